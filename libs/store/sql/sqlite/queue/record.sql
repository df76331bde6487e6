-- Records a run of the queue as over. It is in the queue still.
-- ?1 run, ?2 status, ?3 node (or null), ?4 time, ?5 error, ?6 output
INSERT INTO task_runs (
    id, task_id, chain_id, status, trigger, attempt, epoch, node_id, scheduled_for, created_at, started_at, finished_at,
    delivery_id, error, output
)
SELECT
    id, task_id, chain_id, ?2, trigger, attempt, epoch, ?3, scheduled_for, created_at, started_at, ?4, delivery_id, ?5, ?6
FROM task_queue
WHERE id = ?1
