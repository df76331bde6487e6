-- The database's time. One row.
SELECT clock_timestamp() AS now
