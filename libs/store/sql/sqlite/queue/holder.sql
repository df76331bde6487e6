-- Where a worker is, and whether its session is good. No row: there is none.
-- ?1 session, ?2 time
SELECT node_id, lease_until > ?2 AS is_good FROM task_workers WHERE id = ?1
