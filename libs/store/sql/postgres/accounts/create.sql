-- Creates a person and their inbox: $1 id, $2 handle, $3 display name, $4 role, $5 password hash.
-- No row: the handle or the id is there already.
WITH created AS (
    INSERT INTO users (id, handle, display_name, role, password_hash)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
    RETURNING id, handle, display_name, role
), inbox AS (
    INSERT INTO streams (id, kind) SELECT id, 'user' FROM created
)
SELECT id, handle, display_name, role FROM created
