-- Everything a person follows, of one snapshot: a row for each of their rooms, by id, with the person, the epoch and
-- their inbox on each. One row without room when they have none; no row when there is no such person, or they
-- are disabled.
-- $1 person
SELECT
    log_state.log_epoch,
    users.id, users.handle, users.display_name, users.role,
    inbox.head AS inbox_head, inbox.floor AS inbox_floor,
    followed.room_id, followed.kind AS room_kind, followed.name, followed.head, followed.floor,
    followed.last_read, followed.muted
FROM users
JOIN streams AS inbox ON inbox.id = users.id
CROSS JOIN log_state
LEFT JOIN LATERAL (
    SELECT
        members.room_id, rooms.kind, rooms.name, streams.head, streams.floor,
        members.last_read, members.muted
    FROM members
    JOIN rooms ON rooms.id = members.room_id
    JOIN streams ON streams.id = members.room_id
    WHERE members.member_id = users.id AND members.member_kind = 'user'
) AS followed ON true
WHERE users.id = $1 AND users.disabled_at IS NULL
ORDER BY followed.room_id
