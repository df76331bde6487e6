-- People are elsewhere than before: what waits of theirs is decided again, now. A worker that is deciding on one of their notifications may
-- have looked before they went: it loses its claim. Rows are locked in the order of their ids.
-- $1 people
UPDATE notification_queue
SET due_at = clock_timestamp(), claim = NULL
WHERE notification_id = ANY (ARRAY(
    SELECT notification_id
    FROM notification_queue
    WHERE (push_at IS NOT NULL OR claim IS NOT NULL) AND due_at > clock_timestamp()
        AND notification_id = ANY (ARRAY(
            SELECT notification_id
            FROM notification_queue
            WHERE user_id = ANY ($1::uuid[]) AND (push_at IS NOT NULL OR claim IS NOT NULL)
        ))
    ORDER BY notification_id
    FOR UPDATE
))
RETURNING notification_id
