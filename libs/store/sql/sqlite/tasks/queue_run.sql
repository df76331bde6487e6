-- Queues a run that is asked for: ready, or blocked while another run of the task is.
-- ?1 run, ?2 task, ?3 owner, ?4 state, ?5 trigger, ?6 cost, ?7 turn, ?8 time, ?9 delivery (or null), ?10 input (or null), ?11 trace (or null)
INSERT INTO task_queue (
    id, task_id, owner_id, chain_id, state, trigger, cost, turn, due_at, scheduled_for, created_at, delivery_id, input, trace
)
VALUES (?1, ?2, ?3, ?1, ?4, ?5, ?6, ?7, ?8, ?8, ?8, ?9, ?10, ?11)
