-- Makes sure that a run is a session's until the end of the transaction: whoever would take the run away waits. No row when it is not.
-- The session itself is not locked: a write that takes long must not keep it from being renewed.
-- $1 session, $2 run, $3 epoch
SELECT queue.id
FROM task_queue AS queue
JOIN task_workers AS worker ON worker.id = $1
WHERE queue.id = $2 AND queue.worker_id IS NOT DISTINCT FROM $1 AND queue.epoch = $3
    AND worker.lease_until > clock_timestamp()
FOR SHARE OF queue
