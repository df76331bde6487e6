-- The notifications of a person, the newest first.
-- $1 person, $2 id before which (null: from the newest), $3 whether only what is unread, $4 limit
SELECT facts.*
FROM (
    SELECT notifications.id
    FROM notifications
    WHERE notifications.user_id = $1 AND notifications.withdrawn_at IS NULL
        AND ($2::uuid IS NULL OR notifications.id < $2) AND (NOT $3 OR notifications.read_at IS NULL)
    ORDER BY notifications.id DESC
    LIMIT $4
) AS page
JOIN notification_facts AS facts ON facts.id = page.id
ORDER BY facts.id DESC
