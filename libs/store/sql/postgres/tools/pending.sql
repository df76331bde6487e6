-- The calls that a person may still answer, the oldest first: those of rooms that they are in.
-- $1 person
SELECT
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
FROM tool_calls
WHERE user_id = $1 AND status = 'pending' AND deadline > now() AND EXISTS (
    SELECT FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
)
ORDER BY created_at, id
