-- The members of a room, people and agents, that have one of these handles.
-- ?1 room, ?2 handles
SELECT members.member_kind AS kind, members.member_id AS id
FROM handles
JOIN members ON members.room_id = ?1 AND members.member_id = handles.owner_id
WHERE handles.handle IN rarray(?2)
ORDER BY members.member_id
