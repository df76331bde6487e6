-- Takes notifications that are to be decided, the longest due first, with all that the decision needs to know of them. Rows that another
-- worker is at are skipped; a row is due again once the lease is over. Rows pass through an array, so that the planner looks each one up: of
-- a LIMIT that it does not know it believes that it takes a tenth of all. Due by the time of the statement, which does not change, so that the
-- index is not read to its end.
-- $1 claim, $2 lease in microseconds, $3 limit
WITH claimed AS MATERIALIZED (
    UPDATE notification_queue
    SET claim = $1, due_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
    WHERE notification_id = ANY (ARRAY(
        SELECT notification_id
        FROM notification_queue
        WHERE due_at <= statement_timestamp()
        ORDER BY due_at
        LIMIT $3
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING notification_id, push_at
)
SELECT
    facts.*,
    (
        SELECT wanted.preferences::text FROM notification_preferences AS wanted WHERE wanted.user_id = facts.user_id
    ) AS preferences,
    claimed.push_at IS NOT NULL AS waited,
    coalesce(claimed.push_at <= clock_timestamp(), false) AS delay_over,
    clock_timestamp() AS now
FROM claimed
CROSS JOIN LATERAL (SELECT * FROM notification_facts WHERE notification_facts.id = claimed.notification_id LIMIT 1) AS facts
ORDER BY facts.id
