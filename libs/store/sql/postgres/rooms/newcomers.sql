-- Of these people and agents those who are there, and whether they are in the room. Somebody disabled, and an agent that is
-- revoked, counts only as the member they are.
-- $1 room, $2 ids, $3 what each is
SELECT asked.kind, asked.id, members.member_id IS NOT NULL AS present
FROM unnest($2::uuid[], $3::text[]) AS asked (id, kind)
LEFT JOIN agents ON agents.id = asked.id
JOIN users ON users.id = coalesce(agents.owner_id, asked.id)
LEFT JOIN members ON members.room_id = $1 AND members.member_id = asked.id
WHERE asked.kind = CASE WHEN agents.id IS NULL THEN 'user' ELSE 'agent' END
    AND ((users.disabled_at IS NULL AND agents.revoked_at IS NULL) OR members.member_id IS NOT NULL)
