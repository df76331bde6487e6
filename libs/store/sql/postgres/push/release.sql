-- People are elsewhere than before: what waits of theirs is decided again, now.
-- $1 people
UPDATE notification_queue
SET due_at = clock_timestamp()
WHERE user_id = ANY ($1::uuid[]) AND push_at IS NOT NULL AND due_at > clock_timestamp() AND claim IS NULL
RETURNING notification_id
