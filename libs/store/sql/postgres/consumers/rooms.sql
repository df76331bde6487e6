-- The rooms that agents are in.
-- $1 agents
SELECT member_id AS agent_id, room_id
FROM members
WHERE member_id = ANY ($1::uuid[]) AND member_kind = 'agent'
ORDER BY member_id, room_id
