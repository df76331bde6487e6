-- People who are noted as there, by id after ?1, at most ?2.
SELECT user_id, status, version
FROM user_presence
WHERE status <> 'offline' AND user_id > ?1
ORDER BY user_id
LIMIT ?2
