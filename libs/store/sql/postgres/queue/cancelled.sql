-- Of these runs those that are to be stopped. Looked up one by one, whatever the database believes of the size of the queue.
-- $1 runs
SELECT found.id
FROM unnest($1::uuid[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT queue.id FROM task_queue AS queue WHERE queue.id = asked.id AND queue.cancel_requested_at IS NOT NULL LIMIT 1
) AS found
