-- Removes sessions that have been over for an hour and have no runs; a claim that was under way then is long committed.
DELETE FROM task_workers AS worker
WHERE worker.lease_until < clock_timestamp() - interval '1 hour' AND worker.lease_until > '-infinity'
    AND worker.id <> ALL(
        ARRAY(
            SELECT worker_id
            FROM task_queue
            WHERE stage = 2 AND turn >= 0 AND turn <= (SELECT last_value FROM task_turn) AND worker_id IS NOT NULL
        )
    )
