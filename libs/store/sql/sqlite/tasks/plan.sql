-- Queues the next tick of a task, unless it has one: the run of a tick that is worked on is followed by what the task's row says.
-- ?1 tick, ?2 task, ?3 when, ?4 time
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, due_at, scheduled_for, created_at)
SELECT ?1, id, owner_id, ?1, 'waiting', 'schedule', cost, ?3, ?3, ?4
FROM tasks
WHERE id = ?2
ON CONFLICT (task_id) WHERE trigger = 'schedule' DO NOTHING
