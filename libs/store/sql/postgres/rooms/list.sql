-- A person's rooms as they see them, by id.
-- $1 person, $2 id after which (null: from the first), $3 limit
SELECT
    rooms.id, rooms.kind, rooms.name, streams.head, streams.floor, own.last_read, own.muted,
    everyone.ids AS member_ids, everyone.roles AS member_roles
FROM (
    SELECT members.room_id, members.last_read, members.muted
    FROM members
    JOIN users ON users.id = members.member_id
    WHERE members.member_id = $1 AND members.member_kind = 'user' AND users.disabled_at IS NULL
        AND ($2::uuid IS NULL OR members.room_id > $2)
    ORDER BY members.room_id
    LIMIT $3
) AS own
JOIN rooms ON rooms.id = own.room_id
JOIN streams ON streams.id = own.room_id
CROSS JOIN LATERAL (
    SELECT
        array_agg(members.member_id ORDER BY members.joined_at, members.member_id) AS ids,
        array_agg(members.role ORDER BY members.joined_at, members.member_id) AS roles
    FROM members
    WHERE members.room_id = own.room_id AND members.member_kind = 'user'
) AS everyone
ORDER BY rooms.id
