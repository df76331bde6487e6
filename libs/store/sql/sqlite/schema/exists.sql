-- Whether this database was ever migrated: a row if so.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'
