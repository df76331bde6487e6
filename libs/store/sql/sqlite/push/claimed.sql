-- What waits for a device of the room that waits longest: one push.
-- ?1 device, ?2 notifications of one push at most
SELECT facts.*, delivery.reason AS why, (SELECT events.trace FROM events WHERE events.id = facts.source_id) AS trace
FROM push_deliveries AS delivery
JOIN notification_facts AS facts ON facts.id = delivery.notification_id
WHERE delivery.device_id = ?1
    AND delivery.room_id = (
        SELECT longest.room_id
        FROM push_deliveries AS longest
        WHERE longest.device_id = ?1
        ORDER BY longest.notification_id
        LIMIT 1
    )
ORDER BY delivery.notification_id
LIMIT ?2
