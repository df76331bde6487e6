-- Devices that were just claimed, under their locks, each with what waits for it of the room that waits longest: one push. What the person
-- reads, deletes or wants meanwhile shows in the facts, which are those of now.
-- $1 devices, $2 notifications of one push at most
SELECT
    claimed.device_id AS to_device, claimed.driver, claimed.address, claimed.p256dh, claimed.auth, claimed.failures,
    claimed.test_at IS NOT NULL AS is_test,
    delivery.reason AS why,
    facts.*,
    -- A look-up for each, whatever the planner believes of their number.
    (
        SELECT wanted.preferences::text FROM notification_preferences AS wanted WHERE wanted.user_id = claimed.user_id
    ) AS preferences,
    (SELECT events.trace FROM events WHERE events.id = facts.source_id) AS trace,
    clock_timestamp() AS now,
    unread.unread
FROM push_subscriptions AS claimed
LEFT JOIN LATERAL (
    SELECT waiting.notification_id, waiting.reason
    FROM (
        SELECT deliveries.*, first_value(room_id) OVER (ORDER BY notification_id) AS first_room
        FROM push_deliveries AS deliveries
        WHERE deliveries.device_id = claimed.device_id
    ) AS waiting
    WHERE waiting.room_id = waiting.first_room
    ORDER BY waiting.notification_id
    LIMIT $2
) AS delivery ON true
LEFT JOIN LATERAL (SELECT * FROM notification_facts WHERE notification_facts.id = delivery.notification_id LIMIT 1) AS facts
    ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS unread
    FROM notifications
    WHERE notifications.user_id = claimed.user_id AND read_at IS NULL AND withdrawn_at IS NULL
) AS unread
WHERE claimed.device_id = ANY ($1::uuid[])
ORDER BY claimed.device_id, facts.id
