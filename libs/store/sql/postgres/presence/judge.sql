-- Notes how people, locked before (presence/lock), are seen now by their live rows, and gives back those for whom that is a change. While the
-- table is not settled rows may be missing, so nobody is noted as less than they were. All by the time at which the transaction began: what
-- waited for a lock, or for a database that stood still, does not take the wait for silence.
-- $1 people, $2 how long a row lives, in microseconds
WITH live AS MATERIALIZED (
    SELECT DISTINCT ON (coalesce(device_id, connection_id)) user_id, idle
    FROM gateway_presence
    WHERE user_id = ANY ($1::uuid[])
        AND CASE
            WHEN resumable_until IS NULL THEN updated_at > now() - $2::bigint * interval '1 microsecond'
            ELSE resumable_until > now()
        END
    ORDER BY coalesce(device_id, connection_id), epoch DESC
),
seen AS MATERIALIZED (
    SELECT
        people.id,
        CASE WHEN bool_or(NOT live.idle) THEN 2 WHEN count(live.idle) > 0 THEN 1 ELSE 0 END AS rank
    FROM unnest($1::uuid[]) AS people (id)
    LEFT JOIN live ON live.user_id = people.id
    GROUP BY people.id
),
noted AS MATERIALIZED (
    SELECT user_id, CASE status WHEN 'offline' THEN 0 WHEN 'idle' THEN 1 ELSE 2 END AS rank
    FROM user_presence
    WHERE user_id = ANY ($1::uuid[])
)
UPDATE user_presence
SET status = (ARRAY['offline', 'idle', 'online'])[seen.rank + 1], version = user_presence.version + 1
FROM seen
JOIN noted ON noted.user_id = seen.id
WHERE user_presence.user_id = seen.id
    AND (
        seen.rank > noted.rank
        OR (seen.rank < noted.rank AND EXISTS (
            SELECT
            FROM presence_epoch
            WHERE greatest(since, pg_postmaster_start_time()) <= now() - $2::bigint * interval '1 microsecond'
                AND watched_at > now() - $2::bigint * interval '1 microsecond' / 2
        ))
    )
RETURNING user_presence.user_id, user_presence.status, user_presence.version
