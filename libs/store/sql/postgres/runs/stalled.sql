-- Runs that may stand still, with their agents, the longest first: leases that are over, cancels that were not obeyed, work that takes too
-- long, offers that nobody took. Whether they do is decided under their locks (runs/lock). A run may come more than once.
-- $1 longest wait, $2 longest work, $3 longest way to an end, all in microseconds, $4 and $5 time and id after which, $6 limit
SELECT id, agent_id, since
FROM (
    SELECT *
    FROM (
        SELECT id, agent_id, lease_until AS since
        FROM runs
        WHERE status IN ('running', 'waiting') AND lease_until <= now()
            AND (lease_until, id) > ($4::timestamptz, $5::uuid)
        ORDER BY lease_until, id
        LIMIT $6
    ) AS lost
    UNION ALL
    SELECT *
    FROM (
        SELECT id, agent_id, cancel_requested_at AS since
        FROM runs
        WHERE status IN ('running', 'waiting') AND cancel_requested_at IS NOT NULL
            AND cancel_requested_at <= now() - $3::bigint * interval '1 microsecond'
            AND (cancel_requested_at, id) > ($4, $5)
        ORDER BY cancel_requested_at, id
        LIMIT $6
    ) AS disobeyed
    UNION ALL
    SELECT *
    FROM (
        SELECT id, agent_id, started_at AS since
        FROM runs
        WHERE status IN ('running', 'waiting') AND started_at <= now() - $2::bigint * interval '1 microsecond'
            AND (started_at, id) > ($4, $5)
        ORDER BY started_at, id
        LIMIT $6
    ) AS endless
    UNION ALL
    SELECT *
    FROM (
        SELECT id, agent_id, coalesce(offered_at, created_at) AS since
        FROM runs
        WHERE status = 'queued'
            AND coalesce(offered_at, created_at) <= now() - $1::bigint * interval '1 microsecond'
            AND (coalesce(offered_at, created_at), id) > ($4, $5)
        ORDER BY coalesce(offered_at, created_at), id
        LIMIT $6
    ) AS untaken
) AS stalled
ORDER BY since, id
LIMIT $6
