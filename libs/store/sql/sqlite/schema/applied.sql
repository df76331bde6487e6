-- The migrations that this database has.
SELECT version, name, checksum FROM schema_migrations ORDER BY version
