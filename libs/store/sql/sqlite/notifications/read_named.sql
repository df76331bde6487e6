-- Marks the notifications of a person that are named as read.
-- ?1 person, ?2 ids, ?3 time
UPDATE notifications
SET read_at = ?3
WHERE id IN rarray(?2) AND user_id = ?1 AND read_at IS NULL AND withdrawn_at IS NULL
RETURNING id
