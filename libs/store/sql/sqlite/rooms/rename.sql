-- Gives a room a name.
-- ?1 room, ?2 name
UPDATE rooms SET name = ?2 WHERE id = ?1
