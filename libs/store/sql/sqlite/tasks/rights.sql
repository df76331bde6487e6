-- What somebody may do with a task; no row when they may not know of it.
-- ?1 person, ?2 task
SELECT
    CASE
        WHEN tasks.owner_id = ?1 THEN 'owner'
        WHEN person.role = 'admin' OR member.role = 'owner' THEN 'moderator'
        ELSE 'reader'
    END AS rights
FROM tasks
JOIN users AS person ON person.id = ?1
LEFT JOIN members AS member
    ON member.room_id = tasks.room_id AND member.member_id = ?1 AND member.member_kind = 'user'
WHERE tasks.id = ?2 AND tasks.deleted_at IS NULL
    AND (tasks.owner_id = ?1 OR person.role = 'admin' OR member.member_id IS NOT NULL)
