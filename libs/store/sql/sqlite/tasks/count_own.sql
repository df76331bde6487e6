-- How many tasks somebody (?1) has. One row.
SELECT count(*) AS tasks FROM tasks WHERE owner_id = ?1 AND deleted_at IS NULL
