-- Hands back what a session that is good still has, but for the runs that its worker knows of: claims whose answers were lost.
-- $1 session, $2 runs that are known
WITH me AS MATERIALIZED (
    SELECT id FROM task_workers WHERE id = $1 AND lease_until > clock_timestamp() FOR SHARE
)
UPDATE task_queue AS queue
SET state = 'ready', worker_id = NULL, started_at = NULL, turn = (SELECT last_value FROM task_turn)
FROM me
WHERE queue.worker_id = me.id AND queue.id <> ALL($2::uuid[])
RETURNING queue.id
