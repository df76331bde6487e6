-- Whether something is on. One row.
-- $1 what
SELECT NOT EXISTS (SELECT FROM cluster_switches WHERE name = $1 AND NOT enabled) AS enabled
