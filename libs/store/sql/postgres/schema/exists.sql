-- Whether this database was ever migrated.
SELECT to_regclass('schema_migrations') IS NOT NULL AS migrated
