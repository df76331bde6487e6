-- Exchanges a refresh token ($1, its hash) for the next ($2), which lives $3 microseconds.
-- Family and token are locked first. Of two calls with the same token the second waits here, looks again,
-- finds the token used and gets no row; so does a call that waited for the end of its family.
WITH family AS MATERIALIZED (
    SELECT auth_sessions.id, auth_sessions.user_id, auth_sessions.device_id
    FROM refresh_tokens
    JOIN auth_sessions ON auth_sessions.id = refresh_tokens.session_id
    JOIN users ON users.id = auth_sessions.user_id
    WHERE refresh_tokens.hash = $1
        AND refresh_tokens.used_at IS NULL
        AND refresh_tokens.expires_at > now()
        AND auth_sessions.ended_at IS NULL
        AND users.disabled_at IS NULL
    FOR NO KEY UPDATE OF auth_sessions, refresh_tokens
), used AS (
    UPDATE refresh_tokens SET used_at = now() FROM family WHERE refresh_tokens.hash = $1
), renewed AS (
    UPDATE auth_sessions
    SET expires_at = now() + $3::bigint * interval '1 microsecond'
    FROM family
    WHERE auth_sessions.id = family.id
    RETURNING auth_sessions.id, auth_sessions.expires_at
), next AS (
    INSERT INTO refresh_tokens (hash, session_id, expires_at) SELECT $2, id, expires_at FROM renewed
)
SELECT id AS session_id, user_id, device_id FROM family
