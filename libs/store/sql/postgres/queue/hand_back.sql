-- Hands back runs of a session that is good still, all of them when none are named: ready again, first in line, as the attempts that they are.
-- $1 session, $2 runs (or null), $3 their epochs
WITH me AS MATERIALIZED (
    SELECT id FROM task_workers WHERE id = $1 AND lease_until > clock_timestamp() FOR SHARE
)
UPDATE task_queue AS queue
SET state = 'ready', worker_id = NULL, started_at = NULL, turn = (SELECT last_value FROM task_turn)
FROM me
WHERE queue.worker_id = me.id
    AND (
        $2::uuid[] IS NULL
        OR (queue.id, queue.epoch) IN (SELECT * FROM unnest($2::uuid[], $3::bigint[]))
    )
RETURNING queue.id
