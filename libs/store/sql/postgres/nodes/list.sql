-- All nodes by role and start, with how long each has been silent.
SELECT id, role, name, version, started_at, seen_at,
    greatest(0, extract(epoch FROM statement_timestamp() - seen_at))::float8 AS silent
FROM nodes
ORDER BY role, started_at, id
