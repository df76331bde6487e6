-- The rooms of a person or an agent as they see them, without their members, by id.
-- ?1 who, ?2 what they are, ?3 id after which (null: from the first), ?4 limit
SELECT rooms.id, rooms.kind, rooms.name, streams.head, streams.floor, own.last_read, own.muted
FROM members AS own
LEFT JOIN agents ON agents.id = own.member_id
JOIN users ON users.id = coalesce(agents.owner_id, own.member_id)
JOIN rooms ON rooms.id = own.room_id
JOIN streams ON streams.id = own.room_id
-- Every id is greater than the empty one.
WHERE own.member_id = ?1 AND own.member_kind = ?2 AND own.room_id > coalesce(?3, x'')
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
ORDER BY own.room_id
LIMIT ?4
