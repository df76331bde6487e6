-- The rooms of a person or an agent as they see them, by id.
-- $1 who, $2 what they are, $3 id after which (null: from the first), $4 limit
SELECT
    rooms.id, rooms.kind, rooms.name, streams.head, streams.floor, own.last_read, own.muted,
    everyone.ids AS member_ids, everyone.kinds AS member_kinds, everyone.roles AS member_roles
FROM (
    SELECT members.room_id, members.last_read, members.muted
    FROM members
    LEFT JOIN agents ON agents.id = members.member_id
    JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
    WHERE members.member_id = $1 AND members.member_kind = $2
        AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
        AND ($3::uuid IS NULL OR members.room_id > $3)
    ORDER BY members.room_id
    LIMIT $4
) AS own
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
ORDER BY rooms.id
