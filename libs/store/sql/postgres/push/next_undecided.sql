-- How long until the next notification is to be decided, in seconds; no row when none is.
SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds
FROM notification_queue
ORDER BY due_at
LIMIT 1
