-- Begins an epoch ($1) in a database that has none, or one of another database (it was restored or copied). The guard
-- is in the write: of several nodes that found it so one changes it.
INSERT INTO log_state (log_epoch, system_identifier)
SELECT $1, control.system_identifier || '/' || pg_database.oid
FROM pg_control_system() AS control, pg_database
WHERE pg_database.datname = current_database()
ON CONFLICT (only_row) DO UPDATE
SET log_epoch = excluded.log_epoch, system_identifier = excluded.system_identifier
WHERE log_state.system_identifier <> excluded.system_identifier
