-- The members of a room that have one of these handles.
-- $1 room, $2 handles
SELECT users.id
FROM users
JOIN members ON members.room_id = $1 AND members.member_id = users.id
WHERE users.handle = ANY ($2::text[])
ORDER BY users.id
