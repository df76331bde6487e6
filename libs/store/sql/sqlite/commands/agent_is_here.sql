-- Whether an agent (?2) is a member of a room (?1), not revoked, and its owner not disabled: a row if so.
SELECT 1
FROM members
JOIN agents ON agents.id = members.member_id
JOIN users ON users.id = agents.owner_id
WHERE members.room_id = ?1 AND members.member_id = ?2 AND members.member_kind = 'agent'
    AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
