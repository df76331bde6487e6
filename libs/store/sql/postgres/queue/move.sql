-- Moves ticks that are where they were. One that is moved to a time which has passed is due now. One without a time goes.
-- $1 ticks, $2 where they were, $3 where they are to be (or null)
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) AS tick (id, was, becomes)
),
gone AS (
    DELETE FROM task_queue AS queue
    USING given
    WHERE queue.id = given.id AND queue.state = 'waiting' AND queue.scheduled_for = given.was AND given.becomes IS NULL
)
UPDATE task_queue AS queue
SET scheduled_for = given.becomes, due_at = greatest(given.becomes, clock_timestamp())
FROM given
WHERE queue.id = given.id AND queue.state = 'waiting' AND queue.scheduled_for = given.was AND given.becomes IS NOT NULL
