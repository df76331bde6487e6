-- Makes people and agents members. What was written before they came counts as read. A microsecond lies between them, so
-- that the order of joining is the given one.
-- $1 room, $2 members, $3 what each is, $4 their roles, $5 what each has read
INSERT INTO members (room_id, member_id, member_kind, role, last_read, joined_at)
SELECT $1, given.member_id, given.kind, given.role, given.last_read,
    now.at + given.place * interval '1 microsecond'
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[])
    WITH ORDINALITY AS given (member_id, kind, role, last_read, place)
CROSS JOIN (SELECT clock_timestamp() AS at OFFSET 0) AS now
