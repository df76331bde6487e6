-- Answers a call of a person's, if it is pending, its time is not over, and the person is in the room still. Runs under the
-- locks of the agent's and the person's stream; who removes the person takes the latter.
-- $1 call, $2 person, $3 result (JSON text) or null, $4 what went wrong or null
UPDATE tool_calls
SET status = 'answered', result = $3::text::json, error = $4, resolved_at = now()
WHERE id = $1 AND user_id = $2 AND status = 'pending' AND deadline > now() AND EXISTS (
    SELECT FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
)
RETURNING
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
