-- People, by id, who are noted as there or have rows.
-- ?1 id after which, ?2 most people
SELECT user_id FROM user_presence WHERE status <> 'offline' AND user_id > ?1
UNION
SELECT user_id FROM gateway_presence WHERE user_id > ?1
ORDER BY user_id
LIMIT ?2
