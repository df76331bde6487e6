-- What a person may do with a message: their role in the room, and the message as it stands. No row when they are
-- not in the room or disabled; no sender when the room has no such message. Runs under the
-- room's lock (log/lock), which everybody takes who changes one of them.
-- $1 room, $2 person, $3 message
-- "->" and not "->>" on data: it does not decode the other fields.
SELECT
    members.role,
    events.sender_id,
    coalesce((events.data -> 'deleted')::text = 'true', false) AS deleted
FROM members
JOIN users ON users.id = members.member_id
LEFT JOIN events
    ON events.id = $3 AND events.stream_id = members.room_id AND events.kind = 'message.created'
WHERE members.room_id = $1 AND members.member_id = $2 AND members.member_kind = 'user'
    AND users.disabled_at IS NULL
