-- Begins the first log epoch ($1) of a fresh database, and notes which database that is: the server's
-- identity and the database's number in it, so that a restored and a copied one are both told apart.
INSERT INTO log_state (log_epoch, system_identifier)
SELECT $1, control.system_identifier || '/' || pg_database.oid
FROM pg_control_system() AS control, pg_database
WHERE pg_database.datname = current_database()
ON CONFLICT DO NOTHING
