-- Goes on with the life of the log that was exported ($1), in this database: it is at home here from now on.
INSERT INTO log_state (log_epoch, system_identifier)
SELECT $1, control.system_identifier || '/' || pg_database.oid
FROM pg_control_system() AS control, pg_database
WHERE pg_database.datname = current_database()
ON CONFLICT (only_row) DO UPDATE
SET log_epoch = excluded.log_epoch, system_identifier = excluded.system_identifier
