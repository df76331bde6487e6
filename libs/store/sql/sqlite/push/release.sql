-- People (?1) are elsewhere than before: what waits of theirs is decided again, now (?2). A worker that is deciding on one of their
-- notifications may have looked before they went: it loses its claim.
UPDATE notification_queue
SET due_at = ?2, claim = NULL
WHERE user_id IN rarray(?1) AND (push_at IS NOT NULL OR claim IS NOT NULL) AND due_at > ?2
