-- Notes up to where a person has read a room.
-- ?1 room, ?2 person, ?3 seq
UPDATE members SET last_read = ?3 WHERE room_id = ?1 AND member_id = ?2
