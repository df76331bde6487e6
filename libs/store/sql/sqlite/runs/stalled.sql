-- Runs that stand still, with their agents, the longest first: leases that are over, cancels that were not obeyed, work that takes too
-- long, offers that nobody took. A run may come more than once.
-- ?1 now, and the latest times of ?2 a cancel, ?3 a start, ?4 a place in the queue, ?5 and ?6 time and id after which, ?7 limit
SELECT id, agent_id, since
FROM (
    SELECT *
    FROM (
        SELECT id, agent_id, lease_until AS since
        FROM runs
        WHERE status IN ('running', 'waiting') AND lease_until <= ?1 AND (lease_until, id) > (?5, ?6)
        ORDER BY lease_until, id
        LIMIT ?7
    )
    UNION ALL
    SELECT *
    FROM (
        SELECT id, agent_id, cancel_requested_at AS since
        FROM runs
        WHERE cancel_requested_at IS NOT NULL AND status IN ('running', 'waiting')
            AND cancel_requested_at <= ?2 AND (cancel_requested_at, id) > (?5, ?6)
        ORDER BY cancel_requested_at, id
        LIMIT ?7
    )
    UNION ALL
    SELECT *
    FROM (
        SELECT id, agent_id, started_at AS since
        FROM runs
        WHERE status IN ('running', 'waiting') AND started_at <= ?3 AND (started_at, id) > (?5, ?6)
        ORDER BY started_at, id
        LIMIT ?7
    )
    UNION ALL
    SELECT *
    FROM (
        SELECT id, agent_id, coalesce(offered_at, created_at) AS since
        FROM runs
        WHERE status = 'queued' AND coalesce(offered_at, created_at) BETWEEN ?5 AND ?4
            AND (coalesce(offered_at, created_at), id) > (?5, ?6)
        ORDER BY coalesce(offered_at, created_at), id
        LIMIT ?7
    )
)
ORDER BY since, id
LIMIT ?7
