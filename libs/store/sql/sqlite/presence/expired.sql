-- People with rows that are live no more.
-- ?1 when such rows were refreshed last, ?2 time, ?3 most people
SELECT DISTINCT user_id
FROM gateway_presence
WHERE CASE WHEN resumable_until IS NULL THEN updated_at <= ?1 ELSE resumable_until <= ?2 END
ORDER BY user_id
LIMIT ?3
