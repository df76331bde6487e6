-- Whether somebody is in a room: a person who is not disabled, or an agent that is neither revoked nor of somebody disabled. A row if so.
-- ?1 room, ?2 who, ?3 what they are
SELECT 1
FROM members
LEFT JOIN agents ON agents.id = members.member_id
JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
WHERE members.room_id = ?1 AND members.member_id = ?2 AND members.member_kind = ?3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
