-- Removes sessions that have been over for an hour and have no runs; a claim that was under way then is long committed.
DELETE FROM task_workers AS worker
WHERE worker.lease_until < clock_timestamp() - interval '1 hour' AND worker.lease_until > '-infinity'
    AND NOT EXISTS (SELECT FROM task_queue AS queue WHERE queue.worker_id = worker.id)
