-- Answers a call, if it is pending, its time is not over, and the person is in the room still.
-- ?1 call, ?2 result (JSON text) or null, ?3 what went wrong or null, ?4 time
UPDATE tool_calls
SET status = 'answered', result = ?2, error = ?3, resolved_at = ?4
WHERE id = ?1 AND status = 'pending' AND deadline > ?4 AND EXISTS (
    SELECT 1 FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
)
RETURNING id, run_id, room_id, agent_id, user_id, tool, args, status, deadline, result, error
