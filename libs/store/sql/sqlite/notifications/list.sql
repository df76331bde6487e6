-- The notifications of a person, the newest first. The page is found first, so that only what is on it is looked up.
-- ?1 person, ?2 id before which, ?3 whether only what is unread, ?4 limit
SELECT *
FROM notification_facts
WHERE id IN (
    SELECT id
    FROM notifications
    WHERE user_id = ?1 AND withdrawn_at IS NULL AND id < ?2 AND (NOT ?3 OR read_at IS NULL)
    ORDER BY id DESC
    LIMIT ?4
)
ORDER BY id DESC
