-- Takes devices that a push waits for, the longest due first.
-- ?1 claim, ?2 end of the lease, ?3 time, ?4 devices at most
UPDATE push_subscriptions
SET claim = ?1, claimed_at = ?3, next_at = ?2
WHERE device_id IN (SELECT device_id FROM push_subscriptions WHERE next_at <= ?3 ORDER BY next_at LIMIT ?4)
RETURNING device_id, user_id, address, p256dh, auth, failures, test_at IS NOT NULL AS is_test
