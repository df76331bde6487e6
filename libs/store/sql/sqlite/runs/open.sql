-- The runs that are not over in the rooms of a person (?1).
SELECT runs.id, runs.room_id
FROM members
JOIN users ON users.id = members.member_id
JOIN runs ON runs.room_id = members.room_id
WHERE members.member_id = ?1 AND members.member_kind = 'user' AND users.disabled_at IS NULL
    AND runs.status IN ('queued', 'running', 'waiting')
ORDER BY runs.id
