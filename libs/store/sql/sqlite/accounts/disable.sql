-- Disables ?1, from ?2 on unless it was before.
UPDATE users SET disabled_at = coalesce(disabled_at, ?2) WHERE id = ?1
