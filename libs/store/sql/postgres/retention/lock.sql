-- Locks streams that nobody else holds: who sends is not waited for, and does not wait long for us.
-- $1 stream ids
SELECT id FROM streams WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
