-- Ends a sign-in ($2) of a person ($1); says whether it was live until now, and whether there is one at all. Nothing more is pushed where it
-- subscribed: whoever uses that device next must not read their messages.
-- The time is read when the row is locked: sessions/ended_since leans on it not being older than the lock.
WITH ended AS (
    UPDATE auth_sessions
    SET ended_at = clock_timestamp()
    WHERE id = $2 AND user_id = $1 AND ended_at IS NULL
    RETURNING id
),
told AS (
    INSERT INTO notification_steps (notification_id, step, reason, device_id)
    SELECT waiting.notification_id, 'dropped', 'unsubscribed', waiting.device_id
    FROM ended
    JOIN push_subscriptions AS subscribed ON subscribed.session_id = ended.id
    JOIN push_deliveries AS waiting ON waiting.device_id = subscribed.device_id
),
unsubscribed AS (
    DELETE FROM push_subscriptions USING ended WHERE push_subscriptions.session_id = ended.id
)
SELECT EXISTS (SELECT FROM ended) AS ended,
    EXISTS (SELECT FROM auth_sessions WHERE id = $2 AND user_id = $1) AS found
