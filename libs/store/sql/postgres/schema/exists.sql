-- Whether this database was ever migrated, and whether an import into it is under way.
SELECT to_regclass('schema_migrations') IS NOT NULL AS migrated, to_regclass('import_progress') IS NOT NULL AS importing
