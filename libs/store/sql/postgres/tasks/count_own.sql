-- How many tasks somebody has.
-- $1 owner
SELECT count(*) AS tasks FROM tasks WHERE owner_id = $1 AND deleted_at IS NULL
