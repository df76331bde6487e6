-- The members of rooms (?1), those of a room in the order of joining.
SELECT room_id, member_kind, member_id, role
FROM members
WHERE room_id IN rarray(?1)
ORDER BY room_id, joined_at, member_id
