-- The owner of a device asks for a push to try it, which comes when the device rests no more. Writes nothing without a subscription.
-- ?1 device, ?2 person, ?3 time
UPDATE push_subscriptions
SET test_at = ?3,
    -- A worker that has it sees the request when it gives it back.
    next_at = CASE WHEN claim IS NULL OR next_at <= ?3 THEN min(next_at, max(not_before, ?3)) ELSE next_at END
WHERE device_id = ?1 AND user_id = ?2
