-- Runs that were claimed, with what is needed to work on them, in the order of their turns.
-- ?1 runs (an array)
SELECT
    queue.id, queue.task_id, queue.owner_id, queue.chain_id, queue.trigger, queue.attempt, queue.epoch, queue.due_at,
    queue.scheduled_for, queue.started_at, queue.turn, queue.cancel_requested_at IS NOT NULL AS cancel_requested,
    queue.delivery_id, queue.input, queue.trace, tasks.name, tasks.action, tasks.max_runtime_ms, tasks.webhook_key,
    tasks.version, tasks.schedule, tasks.timezone, tasks.anchor, tasks.misfire, tasks.retries,
    owner.disabled_at IS NOT NULL AS owner_disabled, owner.role = 'admin' AS owner_is_admin
FROM task_queue AS queue
JOIN tasks ON tasks.id = queue.task_id
JOIN users AS owner ON owner.id = queue.owner_id
WHERE queue.id IN rarray(?1)
ORDER BY queue.turn, queue.id
