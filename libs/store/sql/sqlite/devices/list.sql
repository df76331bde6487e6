-- The devices of a person (?1) by id after ?2, at most ?3.
SELECT id, kind, name, created_at
FROM devices
WHERE user_id = ?1 AND (?2 IS NULL OR id > ?2)
ORDER BY id
LIMIT ?3
