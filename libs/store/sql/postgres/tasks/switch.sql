-- Switches something for the whole cluster.
-- $1 what, $2 on or off, $3 by whom
INSERT INTO cluster_switches (name, enabled, changed_by)
VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, changed_by = excluded.changed_by, changed_at = clock_timestamp()
