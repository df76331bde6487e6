-- Adds a device: $1 id, $2 person, $3 kind, $4 name. No row: the id is there already.
INSERT INTO devices (id, user_id, kind, name)
VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO NOTHING
RETURNING id, kind, name, created_at
