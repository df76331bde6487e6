-- Up to where a person has read a room, and its head. No row when they are not in it or disabled.
-- ?1 room, ?2 person
SELECT members.last_read, streams.head
FROM members
JOIN users ON users.id = members.member_id
JOIN streams ON streams.id = members.room_id
WHERE members.room_id = ?1 AND members.member_id = ?2 AND members.member_kind = 'user' AND users.disabled_at IS NULL
