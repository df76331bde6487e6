-- What a member may do with a message: their role in the room, and the message as it stands. No row when they are
-- not in the room or disabled (an agent: revoked, or its owner disabled); no sender when the room has no such message.
-- ?1 room, ?2 member, ?3 what they are, ?4 message
SELECT members.role, events.sender_id, coalesce(events.data -> 'deleted' = 'true', 0) AS deleted
FROM members
LEFT JOIN agents ON agents.id = members.member_id
JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
LEFT JOIN events ON events.id = ?4 AND events.stream_id = members.room_id AND events.kind = 'message.created'
WHERE members.room_id = ?1 AND members.member_id = ?2 AND members.member_kind = ?3
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
