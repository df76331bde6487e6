-- Makes a member an owner; nobody when $2 is null.
-- $1 room, $2 member
UPDATE members SET role = 'owner' WHERE room_id = $1 AND member_id = $2
