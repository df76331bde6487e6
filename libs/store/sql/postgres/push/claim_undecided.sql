-- Takes notifications that are to be decided, the longest due first, with all that the decision needs to know of them. Rows that another
-- worker is at are skipped; a row is due again once the lease is over.
-- $1 claim, $2 lease in microseconds, $3 limit
WITH due AS MATERIALIZED (
    SELECT notification_id
    FROM notification_queue
    WHERE due_at <= clock_timestamp()
    ORDER BY due_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
claimed AS MATERIALIZED (
    UPDATE notification_queue
    SET claim = $1, due_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
    FROM due
    WHERE notification_queue.notification_id = due.notification_id
    RETURNING notification_queue.notification_id, notification_queue.push_at
)
SELECT
    facts.*,
    wanted.preferences::text AS preferences,
    claimed.push_at IS NOT NULL AS waited,
    coalesce(claimed.push_at <= clock_timestamp(), false) AS delay_over,
    clock_timestamp() AS now
FROM claimed
JOIN notification_facts AS facts ON facts.id = claimed.notification_id
LEFT JOIN notification_preferences AS wanted ON wanted.user_id = facts.user_id
ORDER BY facts.id
