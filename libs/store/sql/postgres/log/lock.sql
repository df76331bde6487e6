-- Locks streams ($1) for appending, in the order of their ids, so that two writers never wait for each other.
-- Gives back those that exist, as they stand once the lock is held.
-- NO KEY: a row that refers to a stream can be written meanwhile.
-- The array is hidden from the planner, which else plans anew each time for as few streams as there are (a sixth of what a send
-- to one room takes of the database).
SELECT id, kind, head, floor
FROM streams
WHERE id = ANY ((SELECT $1::uuid[])::uuid[])
ORDER BY id
FOR NO KEY UPDATE
