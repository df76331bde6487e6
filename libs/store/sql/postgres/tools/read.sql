-- A call.
-- $1 call
SELECT
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
FROM tool_calls
WHERE id = $1
