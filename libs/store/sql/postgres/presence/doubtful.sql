-- People, by id, who are noted as there or have rows, and whether what is noted differs from their live rows. No row while the table is not
-- settled.
-- $1 id after which, $2 most people, $3 how long a row lives, in microseconds
WITH page AS MATERIALIZED (
    SELECT user_id
    FROM (
        (SELECT user_id FROM user_presence WHERE status <> 'offline' AND user_id > $1 ORDER BY user_id LIMIT $2)
        UNION
        (SELECT DISTINCT user_id FROM gateway_presence WHERE user_id > $1 ORDER BY user_id LIMIT $2)
    ) AS known
    ORDER BY user_id
    LIMIT $2
),
live AS MATERIALIZED (
    SELECT DISTINCT ON (coalesce(held.device_id, held.connection_id)) held.user_id, held.idle
    FROM page
    JOIN gateway_presence AS held ON held.user_id = page.user_id
    WHERE CASE
        WHEN held.resumable_until IS NULL THEN held.updated_at > now() - $3::bigint * interval '1 microsecond'
        ELSE held.resumable_until > now()
    END
    ORDER BY coalesce(held.device_id, held.connection_id), held.epoch DESC
)
SELECT
    page.user_id,
    CASE WHEN bool_or(NOT live.idle) THEN 'online' WHEN count(live.idle) > 0 THEN 'idle' ELSE 'offline' END
        <> coalesce(min(user_presence.status), 'offline') AS differs
FROM page
LEFT JOIN live ON live.user_id = page.user_id
LEFT JOIN user_presence ON user_presence.user_id = page.user_id
WHERE EXISTS (
    SELECT
    FROM presence_epoch
    WHERE greatest(since, pg_postmaster_start_time()) <= now() - $3::bigint * interval '1 microsecond'
        AND watched_at > now() - $3::bigint * interval '1 microsecond' / 2
)
GROUP BY page.user_id
ORDER BY page.user_id
