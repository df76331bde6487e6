-- People with rows that are live no more.
-- $1 how long a row lives, in microseconds, $2 most people
SELECT DISTINCT user_id
FROM gateway_presence
WHERE CASE
    WHEN resumable_until IS NULL THEN updated_at <= now() - $1::bigint * interval '1 microsecond'
    ELSE resumable_until <= now()
END
ORDER BY user_id
LIMIT $2
