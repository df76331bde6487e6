-- Switches something for the whole installation.
-- ?1 what, ?2 on or off, ?3 by whom, ?4 time
INSERT INTO cluster_switches (name, enabled, changed_by, changed_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name) DO UPDATE
SET enabled = excluded.enabled, changed_by = excluded.changed_by, changed_at = excluded.changed_at
