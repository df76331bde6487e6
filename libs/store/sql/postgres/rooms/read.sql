-- Moves what a person has read forward, never back and never beyond the head. Runs under the lock of their inbox, which
-- every other call that moves it or removes them takes. No row when they are not in the room or disabled.
-- $1 room, $2 person, $3 seq
WITH present AS MATERIALIZED (
    SELECT streams.head, members.last_read
    FROM members
    JOIN users ON users.id = members.member_id
    JOIN streams ON streams.id = members.room_id
    WHERE members.room_id = $1 AND members.member_id = $2 AND members.member_kind = 'user'
        AND users.disabled_at IS NULL
),
moved AS (
    UPDATE members
    SET last_read = $3
    FROM present
    WHERE members.room_id = $1 AND members.member_id = $2
        AND members.last_read < $3 AND $3 <= present.head
    RETURNING members.last_read
)
SELECT present.head, present.last_read, moved.last_read IS NOT NULL AS moved
FROM present
LEFT JOIN moved ON true
