-- Notes where pushes to a device of a person go. An address that was another device's is that no more: its pushes that wait go with it. The
-- same subscription again changes nothing, or a push that is under way would come twice. With another one a worker looks again, now,
-- at what was to be looked at some time: what waits may have been added by who held the row until now, and can't be seen here. Gives a row
-- when there is such a device.
-- $1 device, $2 person, $3 driver, $4 address, $5 public key, $6 shared secret, $7 sign-in
-- A sign-in that ends meanwhile is waited for, and names nothing more.
WITH signed_in AS MATERIALIZED (
    SELECT ended_at FROM auth_sessions WHERE id = $7 FOR SHARE
),
device AS MATERIALIZED (
    SELECT id
    FROM devices
    WHERE id = $1 AND user_id = $2 AND NOT EXISTS (SELECT FROM signed_in WHERE ended_at IS NOT NULL)
    FOR SHARE
),
moved AS (
    DELETE FROM push_subscriptions
    USING device
    WHERE md5(push_subscriptions.address) = md5($4) AND push_subscriptions.device_id <> device.id
    RETURNING push_subscriptions.device_id
),
told AS (
    INSERT INTO notification_steps (notification_id, step, reason, device_id)
    SELECT waiting.notification_id, 'dropped', 'unsubscribed', waiting.device_id
    FROM moved
    JOIN push_deliveries AS waiting ON waiting.device_id = moved.device_id
),
noted AS (
    INSERT INTO push_subscriptions AS known (device_id, user_id, driver, address, p256dh, auth, session_id)
    -- Counted, so that the address is free before it is taken.
    SELECT id, $2, $3, $4, $5, $6, $7 FROM device WHERE (SELECT count(*) FROM moved) >= 0
    ON CONFLICT (device_id) DO UPDATE
    SET driver = excluded.driver,
        address = excluded.address,
        p256dh = excluded.p256dh,
        auth = excluded.auth,
        session_id = excluded.session_id,
        next_at = CASE WHEN known.next_at = 'infinity' THEN known.next_at ELSE clock_timestamp() END,
        not_before = '-infinity',
        claim = NULL,
        failures = 0,
        last_at = NULL,
        last_result = NULL
    WHERE (known.driver, known.address, known.p256dh, known.auth)
        IS DISTINCT FROM (excluded.driver, excluded.address, excluded.p256dh, excluded.auth)
    RETURNING known.device_id
),
renewed AS (
    UPDATE push_subscriptions
    SET session_id = $7
    FROM device
    WHERE push_subscriptions.device_id = device.id AND NOT EXISTS (SELECT FROM noted)
)
SELECT id FROM device
