-- The rooms that a person or an agent (?1) is in as what they are (?2), by id.
SELECT members.room_id, rooms.kind, rooms.name, streams.head, streams.floor, members.last_read, members.muted
FROM members
JOIN rooms ON rooms.id = members.room_id
JOIN streams ON streams.id = members.room_id
WHERE members.member_id = ?1 AND members.member_kind = ?2
ORDER BY members.room_id
