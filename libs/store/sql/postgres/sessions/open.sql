-- Opens a sign-in with its first refresh token and, when $5 is given, its device.
-- $1 session, $2 person, $3 hash of the token, $4 its life in microseconds, $5 device, $6 its kind, $7 its name.
-- The row lock (FOR SHARE) waits for those who disable the person or lock the account meanwhile, then looks again.
-- No row: no such person, or disabled, or locked after failed sign-ins, or the session is there already.
WITH person AS MATERIALIZED (
    SELECT id FROM users
    WHERE id = $2 AND disabled_at IS NULL AND (locked_until IS NULL OR locked_until <= now())
    FOR SHARE
), opened AS (
    INSERT INTO auth_sessions (id, user_id, device_id, expires_at)
    SELECT $1, id, $5, now() + $4::bigint * interval '1 microsecond' FROM person
    ON CONFLICT (id) DO NOTHING
    RETURNING id, user_id, expires_at
), device AS (
    INSERT INTO devices (id, user_id, kind, name)
    SELECT $5, user_id, $6, $7 FROM opened WHERE $5::uuid IS NOT NULL
    RETURNING id, kind, name, created_at
), token AS (
    INSERT INTO refresh_tokens (hash, session_id, expires_at) SELECT $3, id, expires_at FROM opened
)
SELECT device.id, device.kind, device.name, device.created_at
FROM opened
LEFT JOIN device ON true
