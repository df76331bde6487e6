-- The head of a room, for somebody who may write there. No row when there is no such room, or they are not in it or disabled (an agent:
-- revoked, or its owner disabled).
-- ?1 room, ?2 who, ?3 what they are
SELECT streams.head
FROM members
LEFT JOIN agents ON agents.id = members.member_id
JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
JOIN streams ON streams.id = members.room_id
WHERE members.room_id = ?1 AND members.member_id = ?2 AND members.member_kind = ?3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
