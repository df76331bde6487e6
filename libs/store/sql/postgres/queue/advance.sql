-- Brings the line forward to runs that are under way beyond where it has come, as whoever looks for those looks no further: of two claims at once the
-- one with the lower turns may have set it last, and a copy of a database may have left the sequence behind. A row when there were some.
-- They are among the next in line: what lies between is being claimed, which brings it forward too. Done again and again, so one that sets it back for a
-- moment does no harm.
SELECT setval('task_turn', max(turn)) AS turn
FROM (
    SELECT turn, worker_id
    FROM task_queue
    WHERE stage = 2 AND turn >= 0 AND turn > (SELECT last_value FROM task_turn)
    ORDER BY turn, id
    LIMIT (SELECT 3000)
) AS next
WHERE worker_id IS NOT NULL
HAVING count(*) > 0
