-- The rooms that agents (?1) are in.
SELECT member_id AS agent_id, room_id
FROM members
WHERE member_id IN rarray(?1) AND member_kind = 'agent'
ORDER BY member_id, room_id
