-- A heartbeat of the node $1: $2 role, $3 name, $4 version.
INSERT INTO nodes (id, role, name, version)
VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE SET seen_at = now(), role = $2, name = $3, version = $4
