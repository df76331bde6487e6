-- What notifications are about is gone: they count as unread no more, and nobody is pushed to.
-- $1 messages or tool calls
UPDATE notifications
SET withdrawn_at = clock_timestamp()
WHERE source_id = ANY ($1::uuid[]) AND withdrawn_at IS NULL
