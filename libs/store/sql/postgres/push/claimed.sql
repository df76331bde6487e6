-- Devices that were just claimed, under their locks, each with what waits for it of the room that waits longest: one push. What the person
-- reads, deletes or wants meanwhile shows in the facts, which are those of now.
-- $1 devices, $2 notifications of one push at most
SELECT
    claimed.device_id AS to_device, claimed.driver, claimed.address, claimed.p256dh, claimed.auth, claimed.failures,
    claimed.test_at IS NOT NULL AS is_test,
    delivery.reason AS why,
    facts.*,
    wanted.preferences::text AS preferences,
    clock_timestamp() AS now,
    unread.unread
FROM push_subscriptions AS claimed
LEFT JOIN LATERAL (
    SELECT waiting.*
    FROM push_deliveries AS waiting
    WHERE waiting.device_id = claimed.device_id AND waiting.room_id = (
        SELECT first.room_id
        FROM push_deliveries AS first
        WHERE first.device_id = claimed.device_id
        ORDER BY first.notification_id
        LIMIT 1
    )
    ORDER BY waiting.notification_id
    LIMIT $2
) AS delivery ON true
LEFT JOIN notification_facts AS facts ON facts.id = delivery.notification_id
LEFT JOIN notification_preferences AS wanted ON wanted.user_id = claimed.user_id
CROSS JOIN LATERAL (
    SELECT count(*) AS unread
    FROM notifications
    WHERE notifications.user_id = claimed.user_id AND read_at IS NULL AND withdrawn_at IS NULL
) AS unread
WHERE claimed.device_id = ANY ($1::uuid[])
ORDER BY claimed.device_id, facts.id
