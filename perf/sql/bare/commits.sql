-- Transactions that this database has committed. One row.
SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()
