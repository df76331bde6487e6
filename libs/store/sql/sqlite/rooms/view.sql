-- A room as one of its members sees it, without its members; no row for others.
-- ?1 room, ?2 who, ?3 what they are
SELECT rooms.id, rooms.kind, rooms.name, streams.head, streams.floor, own.last_read, own.muted
FROM members AS own
LEFT JOIN agents ON agents.id = own.member_id
JOIN users ON users.id = coalesce(agents.owner_id, own.member_id)
JOIN rooms ON rooms.id = own.room_id
JOIN streams ON streams.id = own.room_id
WHERE own.room_id = ?1 AND own.member_id = ?2 AND own.member_kind = ?3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
