-- Takes a delivery, which counts together with its run.
-- ?1 task, ?2 delivery, ?3 run, ?4 time
INSERT INTO task_deliveries (task_id, delivery_id, run_id, created_at) VALUES (?1, ?2, ?3, ?4)
