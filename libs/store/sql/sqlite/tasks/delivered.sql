-- The run that a delivery queued.
-- ?1 task, ?2 delivery
SELECT run_id FROM task_deliveries WHERE task_id = ?1 AND delivery_id = ?2
