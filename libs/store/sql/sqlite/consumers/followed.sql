-- The rooms of an agent (?1) as its connection begins with them, by id.
SELECT
    members.room_id, rooms.kind, rooms.name, streams.head, streams.floor, members.last_read, members.muted
FROM members
JOIN rooms ON rooms.id = members.room_id
JOIN streams ON streams.id = members.room_id
WHERE members.member_id = ?1 AND members.member_kind = 'agent'
ORDER BY members.room_id
