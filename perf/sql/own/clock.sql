-- The time, as text. One row.
SELECT clock_timestamp()::text
