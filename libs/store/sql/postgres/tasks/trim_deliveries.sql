-- Forgets deliveries that are old.
-- $1 how long they are kept in microseconds, $2 most rows at once
WITH spent AS MATERIALIZED (
    SELECT task_id, delivery_id
    FROM task_deliveries
    WHERE created_at < now() - $1::bigint * interval '1 microsecond'
    ORDER BY created_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM task_deliveries AS delivery
USING spent
WHERE delivery.task_id = spent.task_id AND delivery.delivery_id = spent.delivery_id
RETURNING delivery.task_id
