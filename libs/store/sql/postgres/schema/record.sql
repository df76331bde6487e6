-- Notes a migration, in its own transaction: $1 version, $2 name, $3 SHA-256 of its text.
INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)
