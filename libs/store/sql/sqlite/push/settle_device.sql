-- Gives back a device that was claimed.
-- ?1 device, ?2 before when nothing is sent to it, ?3 when it is looked at if more waits, ?4 since when a push to try it is asked for (null: it
-- is not), ?5 whether the last send failed, ?6 what it came to (null: nothing was sent), ?7 time
UPDATE push_subscriptions
SET claim = NULL,
    not_before = ?2,
    next_at = CASE
        WHEN ?4 IS NOT NULL OR EXISTS (SELECT 1 FROM push_deliveries WHERE push_deliveries.device_id = ?1) THEN ?3
        ELSE 1000000000000000000
    END,
    test_at = ?4,
    failures = CASE WHEN ?5 THEN failures + 1 WHEN ?6 IS NULL THEN failures ELSE 0 END,
    last_at = CASE WHEN ?6 IS NULL THEN last_at ELSE ?7 END,
    last_result = coalesce(?6, last_result)
WHERE device_id = ?1
