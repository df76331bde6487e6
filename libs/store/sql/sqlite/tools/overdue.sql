-- Calls that nobody can answer any more, the oldest deadline first: their time is over, or the person has left the room.
-- ?1 now, ?2 and ?3 deadline and id after which, ?4 limit
SELECT id, agent_id, deadline
FROM tool_calls
WHERE status = 'pending' AND (deadline, id) > (?2, ?3) AND (deadline <= ?1 OR NOT EXISTS (
    SELECT 1 FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
))
ORDER BY deadline, id
LIMIT ?4
