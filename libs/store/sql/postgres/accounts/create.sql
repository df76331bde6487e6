-- Creates a person with their handle and inbox: $1 id, $2 handle, $3 display name, $4 role, $5 password hash.
-- No row: a person or an agent has the handle, or the id is there already. Nothing is reserved for an id that is there.
WITH reserved AS (
    INSERT INTO handles (handle, owner_id)
    SELECT $2, $1 WHERE NOT EXISTS (SELECT FROM users WHERE id = $1)
    ON CONFLICT DO NOTHING
    RETURNING handle, owner_id
), created AS (
    INSERT INTO users (id, handle, display_name, role, password_hash)
    SELECT owner_id, handle, $3, $4, $5 FROM reserved
    RETURNING id, handle, display_name, role
), inbox AS (
    INSERT INTO streams (id, kind) SELECT id, 'user' FROM created
)
SELECT id, handle, display_name, role FROM created
