-- Locks the runs that a message asked for, so that nobody tells of them with its text meanwhile.
-- $1 message
SELECT id FROM runs WHERE message_id = $1 ORDER BY id FOR NO KEY UPDATE
