-- Locks streams ($1) for appending, in the order of their ids, so that two writers never wait for each other.
-- Gives back those that exist, as they stand once the lock is held.
-- NO KEY: a row that refers to a stream can be written meanwhile.
SELECT id, kind, head, floor
FROM streams
WHERE id = ANY ($1::uuid[])
ORDER BY id
FOR NO KEY UPDATE
