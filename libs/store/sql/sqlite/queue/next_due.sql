-- When the next run is due. No row: none waits.
SELECT due_at FROM task_queue WHERE state = 'waiting' ORDER BY due_at LIMIT 1
