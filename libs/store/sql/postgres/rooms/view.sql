-- A room as one of its members sees it; no row for others.
-- $1 room, $2 who, $3 what they are
SELECT
    rooms.id, rooms.kind, rooms.name, streams.head, streams.floor, own.last_read, own.muted,
    everyone.ids AS member_ids, everyone.kinds AS member_kinds, everyone.roles AS member_roles
FROM members AS own
LEFT JOIN agents ON agents.id = own.member_id
JOIN users ON users.id = coalesce(agents.owner_id, own.member_id)
JOIN rooms ON rooms.id = own.room_id
JOIN streams ON streams.id = own.room_id
CROSS JOIN LATERAL (
    SELECT
        array_agg(members.member_id ORDER BY members.joined_at, members.member_id) AS ids,
        array_agg(members.member_kind ORDER BY members.joined_at, members.member_id) AS kinds,
        array_agg(members.role ORDER BY members.joined_at, members.member_id) AS roles
    FROM members
    WHERE members.room_id = own.room_id
) AS everyone
WHERE own.room_id = $1 AND own.member_id = $2 AND own.member_kind = $3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
