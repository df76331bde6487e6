-- Notes a migration, in its own transaction: ?1 version, ?2 name, ?3 SHA-256 of its text, ?4 time.
INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4)
