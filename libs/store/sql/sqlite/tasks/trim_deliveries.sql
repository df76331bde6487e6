-- Forgets deliveries that are older than that.
-- ?1 time, ?2 limit
DELETE FROM task_deliveries
WHERE (task_id, delivery_id) IN (
    SELECT task_id, delivery_id FROM task_deliveries WHERE created_at < ?1 ORDER BY created_at LIMIT ?2
)
