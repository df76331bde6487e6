-- Takes devices that a push waits for, the longest due first. What waits for them is read by a statement after this (push/claimed): this one
-- keeps the snapshot it began with, and whoever had a device until now may have sent something since. Array and time are as in
-- push/claim_undecided.
-- $1 claim, $2 lease in microseconds, $3 devices at most
UPDATE push_subscriptions
SET claim = $1, claimed_at = clock_timestamp(), next_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
WHERE device_id = ANY (ARRAY(
    SELECT device_id
    FROM push_subscriptions
    WHERE next_at <= statement_timestamp()
    ORDER BY next_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING device_id
