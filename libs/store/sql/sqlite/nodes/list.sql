-- All nodes by role and start.
SELECT id, role, name, version, started_at, seen_at FROM nodes ORDER BY role, started_at, id
