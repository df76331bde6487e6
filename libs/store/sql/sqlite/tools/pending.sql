-- The calls that a person (?1) may still answer at ?2, the oldest first: those of rooms that they are in.
SELECT id, run_id, room_id, agent_id, user_id, tool, args, status, deadline, result, error
FROM tool_calls
WHERE user_id = ?1 AND status = 'pending' AND deadline > ?2 AND EXISTS (
    SELECT 1 FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
)
ORDER BY created_at, id
