-- The calls that a person may still answer, the oldest first.
-- $1 person
SELECT
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
FROM tool_calls
WHERE user_id = $1 AND status = 'pending' AND deadline > now()
ORDER BY created_at, id
