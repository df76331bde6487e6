-- Notifications of which a hint was decided lately and that no node has shown: the word of it was lost. With the person.
-- ?1 since when, ?2 limit
SELECT notifications.id, notifications.user_id
FROM notifications
WHERE notifications.decision = 'gateway'
    AND notifications.decided_at > ?1
    AND notifications.read_at IS NULL AND notifications.withdrawn_at IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM notification_steps AS steps
        WHERE steps.notification_id = notifications.id AND steps.step = 'hinted'
    )
ORDER BY notifications.decided_at DESC, notifications.id DESC
LIMIT ?2
