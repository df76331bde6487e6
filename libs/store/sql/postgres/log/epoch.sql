-- The present epoch, and whether it was begun in this database, as schema/found notes it.
SELECT
    log_state.log_epoch,
    log_state.system_identifier = control.system_identifier || '/' || pg_database.oid AS at_home
FROM log_state, pg_control_system() AS control, pg_database
WHERE pg_database.datname = current_database()
