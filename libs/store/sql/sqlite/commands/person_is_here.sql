-- Whether a person (?2) is a member of a room (?1) and not disabled: a row if so.
SELECT 1
FROM members
JOIN users ON users.id = members.member_id
WHERE members.room_id = ?1 AND members.member_id = ?2 AND members.member_kind = 'user' AND users.disabled_at IS NULL
