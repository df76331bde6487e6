-- How long until the next run is due, in seconds; no row when none waits, and none is due while the scheduler is switched off.
SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds
FROM task_queue
WHERE stage = 0 AND due_at < 'infinity'
    AND NOT EXISTS (SELECT FROM cluster_switches WHERE name = 'scheduler' AND NOT enabled)
ORDER BY due_at
LIMIT 1
