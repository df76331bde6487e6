-- The call that a new one repeats, by its nonce within the execution or else by its id.
-- ?1 run, ?2 its epoch, ?3 nonce, ?4 id
SELECT id
FROM (
    SELECT 1 AS place, id FROM tool_calls WHERE run_id = ?1 AND epoch = ?2 AND nonce = ?3
    UNION ALL
    SELECT 2, id FROM tool_calls WHERE id = ?4 AND run_id = ?1
)
ORDER BY place
LIMIT 1
