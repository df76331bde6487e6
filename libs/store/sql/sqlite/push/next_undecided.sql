-- When the next notification is to be decided; no row when none is.
SELECT due_at FROM notification_queue ORDER BY due_at LIMIT 1
