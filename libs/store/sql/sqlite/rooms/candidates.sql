-- Of these ids those of people and agents who are there: what each is, whether they may become a member (they are not disabled or
-- revoked; an agent of somebody disabled may as little), and whether they are in a room.
-- ?1 ids, ?2 room
SELECT
    asked.value AS id,
    CASE WHEN agents.id IS NULL THEN 'user' ELSE 'agent' END AS kind,
    users.disabled_at IS NULL AND agents.revoked_at IS NULL AS enabled,
    members.member_id IS NOT NULL AS present
FROM rarray(?1) AS asked
LEFT JOIN agents ON agents.id = asked.value
JOIN users ON users.id = coalesce(agents.owner_id, asked.value)
LEFT JOIN members ON members.room_id = ?2 AND members.member_id = asked.value
