-- Makes a member an owner.
-- ?1 room, ?2 member
UPDATE members SET role = 'owner' WHERE room_id = ?1 AND member_id = ?2
