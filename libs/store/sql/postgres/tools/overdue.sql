-- Calls whose time is over, the longest first, with whom they concern.
-- $1 and $2 deadline and id after which, $3 limit
SELECT id, run_id, agent_id, user_id, deadline
FROM tool_calls
WHERE status = 'pending' AND deadline <= now() AND (deadline, id) > ($1::timestamptz, $2::uuid)
ORDER BY deadline, id
LIMIT $3
