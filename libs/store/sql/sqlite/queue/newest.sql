-- The turn that the next run of a flow comes after: that of the run before it, or of what was claimed last. One row.
-- ?1 owner, ?2 cost
SELECT
    max(
        line.turn,
        coalesce(
            (
                SELECT queue.turn
                FROM task_queue AS queue
                WHERE queue.owner_id = ?1 AND queue.cost = ?2 AND queue.state = 'ready'
                ORDER BY queue.turn DESC
                LIMIT 1
            ),
            0
        )
    ) AS turn
FROM task_turn AS line
