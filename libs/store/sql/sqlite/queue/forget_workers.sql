-- Removes sessions that were over by then and have no runs; not the one that never was good.
-- ?1 time
DELETE FROM task_workers
WHERE lease_until < ?1 AND id <> zeroblob(16)
    AND NOT EXISTS (SELECT 1 FROM task_queue AS queue WHERE queue.worker_id = task_workers.id)
