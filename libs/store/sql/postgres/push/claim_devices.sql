-- Takes devices that a push waits for, the longest due first. What waits for them is read by a statement after this (push/claimed): this one
-- keeps the snapshot it began with, and whoever had a device until now may have sent something since.
-- $1 claim, $2 lease in microseconds, $3 devices at most
WITH due AS MATERIALIZED (
    SELECT device_id
    FROM push_subscriptions
    WHERE next_at <= clock_timestamp()
    ORDER BY next_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE push_subscriptions
SET claim = $1, claimed_at = clock_timestamp(), next_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
FROM due
WHERE push_subscriptions.device_id = due.device_id
RETURNING push_subscriptions.device_id
