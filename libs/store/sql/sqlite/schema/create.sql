-- Where applied migrations are noted.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   BLOB NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
