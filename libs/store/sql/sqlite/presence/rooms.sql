-- The rooms of at most so many members that people are in.
-- ?1 people, ?2 most members
WITH own AS MATERIALIZED (
    SELECT member_id, room_id FROM members WHERE member_id IN rarray(?1) AND member_kind = 'user'
),
near AS MATERIALIZED (
    SELECT room.room_id
    FROM (SELECT DISTINCT room_id FROM own) AS room
    WHERE (
        SELECT count(*)
        FROM (SELECT 1 FROM members AS other WHERE other.room_id = room.room_id LIMIT ?2 + 1)
    ) <= ?2
)
SELECT own.member_id AS user_id, own.room_id
FROM own
JOIN near ON near.room_id = own.room_id
ORDER BY own.member_id, own.room_id
