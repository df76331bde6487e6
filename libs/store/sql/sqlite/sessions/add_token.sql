-- Adds a refresh token (?1, its hash) to a family (?2), good until ?3.
INSERT INTO refresh_tokens (hash, session_id, expires_at) VALUES (?1, ?2, ?3)
