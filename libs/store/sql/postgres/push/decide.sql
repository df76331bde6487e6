-- Writes down what was decided on notifications that a claim still holds. Those that nothing more can become of leave the queue; a push
-- that is due becomes one for each device of the person that has a subscription. Gives those that were held.
-- $1 claim, $2 notifications, $3 steps, $4 reasons, $5 microseconds until they are looked at again (null: never), $6 microseconds until the
-- push that waits (null: as it is), $7 whether it is pushed now, $8 node
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::boolean[])
        AS decided (id, step, reason, again, push, pushed)
),
held AS MATERIALIZED (
    SELECT queue.notification_id AS id, queue.user_id, given.step, given.reason, given.again, given.push, given.pushed
    FROM notification_queue AS queue
    JOIN given ON given.id = queue.notification_id
    WHERE queue.claim = $1
    ORDER BY queue.notification_id
    FOR UPDATE OF queue
),
kept AS (
    UPDATE notification_queue
    SET push_at = CASE
            WHEN held.push IS NULL THEN notification_queue.push_at
            ELSE clock_timestamp() + held.push * interval '1 microsecond'
        END,
        due_at = CASE
            -- When its push is due; what never waited has none, and is decided anew.
            WHEN held.again = 0 AND held.push IS NULL THEN coalesce(notification_queue.push_at, clock_timestamp())
            ELSE clock_timestamp() + held.again * interval '1 microsecond'
        END,
        claim = NULL
    FROM held
    WHERE notification_queue.notification_id = held.id AND held.again IS NOT NULL
),
over AS (
    DELETE FROM notification_queue USING held WHERE notification_queue.notification_id = held.id AND held.again IS NULL
),
noted AS (
    UPDATE notifications
    SET decision = held.reason, decided_at = clock_timestamp()
    FROM held
    WHERE notifications.id = held.id AND notifications.decision IS NULL AND held.step IS NOT NULL
),
-- In the order of their ids, as everybody locks them.
devices AS MATERIALIZED (
    SELECT subscriptions.device_id, subscriptions.user_id
    FROM push_subscriptions AS subscriptions
    WHERE subscriptions.user_id IN (SELECT user_id FROM held WHERE pushed)
    ORDER BY subscriptions.device_id
    FOR NO KEY UPDATE
),
waiting AS (
    INSERT INTO push_deliveries (device_id, notification_id, room_id, reason)
    SELECT devices.device_id, held.id, notifications.room_id, held.reason
    FROM held
    JOIN devices ON devices.user_id = held.user_id
    JOIN notifications ON notifications.id = held.id
    WHERE held.pushed
    ON CONFLICT DO NOTHING
),
woken AS (
    UPDATE push_subscriptions
    -- Who has a device sees the push when it is given back. Judged here and not in WHERE, which would look at the row as it stood when
    -- the statement began: it may have been given back while this waited for it.
    SET next_at = CASE
        WHEN push_subscriptions.claim IS NULL OR push_subscriptions.next_at <= clock_timestamp()
        THEN least(push_subscriptions.next_at, greatest(push_subscriptions.not_before, clock_timestamp()))
        ELSE push_subscriptions.next_at
    END
    FROM devices
    WHERE push_subscriptions.device_id = devices.device_id
),
told AS (
    INSERT INTO notification_steps (notification_id, step, reason, node_id)
    SELECT id, step, reason, $8::uuid FROM held WHERE step IS NOT NULL
    UNION ALL
    SELECT id, 'dropped', 'no_subscription', $8::uuid
    FROM held
    WHERE pushed AND NOT EXISTS (SELECT FROM devices WHERE devices.user_id = held.user_id)
)
SELECT id FROM held
