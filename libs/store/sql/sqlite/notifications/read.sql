-- Marks notifications of a person as read up to one, of a room (null: of all). Along those that are not read: what was read is far more.
-- ?1 person, ?2 room, ?3 up to, ?4 time
UPDATE notifications INDEXED BY notifications_unread
SET read_at = ?4
WHERE user_id = ?1 AND read_at IS NULL AND withdrawn_at IS NULL AND (?2 IS NULL OR room_id = ?2) AND id <= ?3
RETURNING id
