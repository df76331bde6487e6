-- Sets the turn of the newest run that was claimed ($1).
SELECT setval('task_turn', $1)
