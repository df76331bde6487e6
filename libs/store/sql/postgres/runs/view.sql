-- A run for somebody in its room; no row for others.
-- $1 run, $2 reader, $3 what they are
SELECT run_documents.*
FROM run_documents
JOIN members ON members.room_id = run_documents.room_id
LEFT JOIN agents ON agents.id = members.member_id
JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
WHERE run_documents.id = $1 AND members.member_id = $2 AND members.member_kind = $3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
