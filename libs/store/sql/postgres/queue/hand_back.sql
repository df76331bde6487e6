-- Hands back runs of a session that is good still: ready again, first in line, as the attempts that they are.
-- $1 session, $2 runs, $3 their epochs
WITH me AS MATERIALIZED (
    SELECT id FROM task_workers WHERE id = $1 AND lease_until > clock_timestamp() FOR SHARE
)
UPDATE task_queue AS queue
SET state = 'ready', worker_id = NULL, started_at = NULL, turn = (SELECT last_value FROM task_turn)
FROM me, unnest($2::uuid[], $3::bigint[]) AS given (id, epoch)
WHERE queue.id = given.id AND queue.epoch = given.epoch AND queue.worker_id = me.id
RETURNING queue.id
