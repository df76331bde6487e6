-- How long until the next run is due, in seconds; no row when none waits.
SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds
FROM task_queue
WHERE state = 'waiting'
ORDER BY due_at
LIMIT 1
