-- Ends those of calls (?1) that are pending and that nobody can answer any more at ?2: expired when their time is over, cancelled when the
-- person has left the room.
UPDATE tool_calls
SET status = CASE WHEN deadline <= ?2 THEN 'expired' ELSE 'cancelled' END, resolved_at = ?2
WHERE id IN rarray(?1) AND status = 'pending' AND (deadline <= ?2 OR NOT EXISTS (
    SELECT 1 FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
))
RETURNING id, run_id, room_id, agent_id, user_id, tool, args, status, deadline, result, error
