-- Begins a worker's session. One row: how far the line has come.
-- $1 session, $2 node, $3 lease in microseconds
INSERT INTO task_workers (id, node_id, lease_until)
VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (id) DO UPDATE SET node_id = excluded.node_id
RETURNING (SELECT last_value FROM task_turn) AS turn
