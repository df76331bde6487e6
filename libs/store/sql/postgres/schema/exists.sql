-- Whether this database was ever migrated, whether an import into it is under way, and whether one has ended.
SELECT
    to_regclass('schema_migrations') IS NOT NULL AS migrated, to_regclass('import_progress') IS NOT NULL AS importing,
    to_regclass('import_ended') IS NOT NULL AS imported
