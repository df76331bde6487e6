-- Removes idempotency keys that are old enough.
-- ?1 most at once, ?2 made before when
DELETE FROM idempotency_keys
WHERE (user_id, key) IN (SELECT user_id, key FROM idempotency_keys WHERE created_at < ?2 LIMIT ?1)
