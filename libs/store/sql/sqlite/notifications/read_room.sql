-- What a person has read of a room up to a seq counts as read in the list, too.
-- ?1 person, ?2 room, ?3 seq, ?4 time
UPDATE notifications
SET read_at = ?4
WHERE user_id = ?1 AND room_id = ?2 AND seq BETWEEN 1 AND ?3 AND read_at IS NULL AND withdrawn_at IS NULL
