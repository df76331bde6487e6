-- Expires calls that are pending and whose time is over. Runs under the lock of their agent's stream.
-- $1 calls
UPDATE tool_calls
SET status = 'expired', resolved_at = now()
WHERE id = ANY ($1::uuid[]) AND status = 'pending' AND deadline <= now()
RETURNING
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
