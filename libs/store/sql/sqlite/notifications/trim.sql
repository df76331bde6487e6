-- Removes notifications that are older than they are kept, with their steps and all that waits.
-- ?1 made before when, ?2 limit
DELETE FROM notifications
WHERE id IN (SELECT id FROM notifications WHERE created_at < ?1 ORDER BY created_at LIMIT ?2)
