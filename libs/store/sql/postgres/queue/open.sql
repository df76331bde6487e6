-- Begins a worker's session.
-- $1 session, $2 node, $3 lease in microseconds
INSERT INTO task_workers (id, node_id, lease_until)
VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (id) DO NOTHING
