-- Calls that nobody can answer any more, the oldest deadline first, with whom they concern: their time is over, or the person has
-- left the room.
-- $1 and $2 deadline and id after which, $3 limit
SELECT id, run_id, agent_id, user_id, deadline
FROM tool_calls
WHERE status = 'pending' AND (deadline <= now() OR (
    -- A look-up by index for each pending call, whatever the planner thinks of the number of members.
    SELECT true FROM members
    WHERE members.room_id = tool_calls.room_id AND members.member_id = tool_calls.user_id
    LIMIT 1
) IS NULL)
    AND (deadline, id) > ($1::timestamptz, $2::uuid)
ORDER BY deadline, id
LIMIT $3
