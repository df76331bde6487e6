-- Rows of live connections. One row.
SELECT count(*) FROM gateway_presence
