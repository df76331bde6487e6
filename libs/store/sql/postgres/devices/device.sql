-- A device ($2) of a person ($1).
SELECT id, kind, name, created_at FROM devices WHERE user_id = $1 AND id = $2
