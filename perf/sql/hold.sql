-- Takes the snapshot of a transaction that is left open.
SELECT count(*) FROM pg_catalog.pg_namespace
