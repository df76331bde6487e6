-- Mutes or unmutes a room for a person; null leaves it. Gives a row when they are in the room and not disabled.
-- $1 room, $2 person, $3 muted
UPDATE members
SET muted = coalesce($3, members.muted)
FROM users
WHERE members.room_id = $1 AND members.member_id = $2 AND members.member_kind = 'user'
    AND users.id = members.member_id AND users.disabled_at IS NULL
RETURNING members.muted
