-- The process that serves this connection. One row.
SELECT pg_backend_pid()
