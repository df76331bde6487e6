-- The notifications of a person, the newest first. The page passes through an array, so that the planner looks each one up: of a LIMIT that
-- it does not know it believes that it takes a tenth of all.
-- $1 person, $2 id before which (null: from the newest), $3 whether only what is unread, $4 limit
SELECT facts.*
FROM unnest(ARRAY(
    SELECT notifications.id
    FROM notifications
    WHERE notifications.user_id = $1 AND notifications.withdrawn_at IS NULL
        AND ($2::uuid IS NULL OR notifications.id < $2) AND (NOT $3 OR notifications.read_at IS NULL)
    ORDER BY notifications.id DESC
    LIMIT $4
)) AS page (id)
CROSS JOIN LATERAL (SELECT * FROM notification_facts WHERE notification_facts.id = page.id LIMIT 1) AS facts
ORDER BY facts.id DESC
