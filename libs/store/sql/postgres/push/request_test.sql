-- The owner of a device asks for a push to try it, which comes when the device rests no more. Gives a row when it has a subscription.
-- $1 device, $2 person
UPDATE push_subscriptions
SET test_at = clock_timestamp(),
    -- A worker that has it sees the request when it gives it back.
    next_at = CASE
        WHEN claim IS NULL OR next_at <= clock_timestamp() THEN least(next_at, greatest(not_before, clock_timestamp()))
        ELSE next_at
    END
WHERE device_id = $1 AND user_id = $2
RETURNING device_id
