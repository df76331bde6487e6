-- How those are noted who are not offline and share a room of at most so many members with a person, and the person.
-- ?1 person, ?2 most members
WITH near AS MATERIALIZED (
    SELECT own.room_id
    FROM members AS own
    WHERE own.member_id = ?1 AND own.member_kind = 'user'
        AND (
            SELECT count(*)
            FROM (SELECT 1 FROM members AS other WHERE other.room_id = own.room_id LIMIT ?2 + 1)
        ) <= ?2
)
SELECT user_presence.user_id, user_presence.status, user_presence.version
FROM user_presence
WHERE user_presence.status <> 'offline'
    AND user_presence.user_id IN (
        SELECT ?1
        UNION
        SELECT other.member_id
        FROM near
        JOIN members AS other ON other.room_id = near.room_id AND other.member_kind = 'user'
    )
ORDER BY user_presence.user_id
