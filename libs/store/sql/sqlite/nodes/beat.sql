-- A heartbeat of the node ?1: ?2 role, ?3 name, ?4 version, at ?5.
INSERT INTO nodes (id, role, name, version, started_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?5)
ON CONFLICT (id) DO UPDATE SET seen_at = ?5, role = ?2, name = ?3, version = ?4
