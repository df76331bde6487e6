-- Removes a member.
-- ?1 room, ?2 member
DELETE FROM members WHERE room_id = ?1 AND member_id = ?2
