-- Begins a worker's session.
-- ?1 session, ?2 node, ?3 until when its lease is good, ?4 time
INSERT INTO task_workers (id, node_id, lease_until, started_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET node_id = excluded.node_id
