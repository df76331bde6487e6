-- Locks the row of an owner: tasks that are made at once are counted one after the other.
-- $1 owner
SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE
