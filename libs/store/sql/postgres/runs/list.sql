-- The runs of a room for somebody in it, newest first. No row when they are not; one without id when there are no runs.
-- $1 room, $2 reader, $3 what they are, $4 id before which (null: from the newest), $5 limit
SELECT page.*
FROM members
LEFT JOIN agents ON agents.id = members.member_id
JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
LEFT JOIN LATERAL (
    SELECT *
    FROM run_documents
    WHERE room_id = $1 AND ($4::uuid IS NULL OR id < $4)
    ORDER BY id DESC
    LIMIT $5
) AS page ON true
WHERE members.room_id = $1 AND members.member_id = $2 AND members.member_kind = $3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
ORDER BY page.id DESC
