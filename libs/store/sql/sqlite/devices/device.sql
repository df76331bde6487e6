-- A device (?1), with whose it is.
SELECT id, user_id, kind, name, created_at FROM devices WHERE id = ?1
