-- Of these people those who are there, and whether they are in the room. Somebody disabled counts only
-- as the member they are.
-- $1 room, $2 people
SELECT users.id, members.member_id IS NOT NULL AS present
FROM users
LEFT JOIN members ON members.room_id = $1 AND members.member_id = users.id
WHERE users.id = ANY ($2::uuid[]) AND (users.disabled_at IS NULL OR members.member_id IS NOT NULL)
