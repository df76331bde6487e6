-- Ends calls that are pending and that nobody can answer any more: expired when their time is over, cancelled when the person has left
-- the room. Runs under the lock of their agent's stream.
-- $1 calls
UPDATE tool_calls
SET status = CASE WHEN deadline <= now() THEN 'expired' ELSE 'cancelled' END, resolved_at = now()
WHERE id = ANY ($1::uuid[]) AND status = 'pending' AND (deadline <= now() OR NOT EXISTS (
        SELECT FROM members
        WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
    ))
RETURNING
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
