-- What a key was used for.
-- ?1 owner, ?2 key
SELECT subject, created_id FROM idempotency_keys WHERE user_id = ?1 AND key = ?2
