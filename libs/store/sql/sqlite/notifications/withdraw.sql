-- What notifications are about is gone: they count as unread no more, and nobody is pushed to.
-- ?1 messages, runs or tool calls, ?2 time
UPDATE notifications SET withdrawn_at = ?2 WHERE source_id IN rarray(?1) AND withdrawn_at IS NULL
