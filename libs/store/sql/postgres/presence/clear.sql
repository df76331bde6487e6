-- Removes rows of people, locked before (presence/lock): those of connections that are gone, those that are live no more, and those of devices that
-- have a row of a higher epoch. A row that counted for nothing in a judgement is gone with it: a late refresh finds it missing, and its node writes
-- it anew, which is judged again. In order, as refreshes go along the key.
-- $1 people, $2 connections that are gone, $3 how long a row lives, in microseconds
WITH spent AS MATERIALIZED (
    SELECT held.connection_id
    FROM gateway_presence AS held
    WHERE held.user_id = ANY ($1::uuid[])
        AND (
            held.connection_id = ANY ($2::uuid[])
            OR CASE
                WHEN held.resumable_until IS NULL THEN held.updated_at <= now() - $3::bigint * interval '1 microsecond'
                ELSE held.resumable_until <= now()
            END
            OR EXISTS (
                SELECT
                FROM gateway_presence AS newer
                WHERE newer.user_id = held.user_id AND newer.device_id = held.device_id AND newer.epoch > held.epoch
            )
        )
    ORDER BY held.connection_id
    FOR UPDATE
)
DELETE FROM gateway_presence
USING spent
WHERE gateway_presence.connection_id = spent.connection_id
RETURNING gateway_presence.connection_id
