-- Answers a call of a person's, if it is pending and its time is not over. Runs under the lock of the agent's stream.
-- $1 call, $2 person, $3 result (JSON text) or null, $4 what went wrong or null
UPDATE tool_calls
SET status = 'answered', result = $3::text::json, error = $4, resolved_at = now()
WHERE id = $1 AND user_id = $2 AND status = 'pending' AND deadline > now()
RETURNING
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
