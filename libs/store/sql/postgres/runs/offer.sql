-- Gives the free places of agents, whose streams are locked, to their next queued runs. A place is free while fewer runs than
-- max_runs are offered or worked on.
-- $1 agents
WITH places AS MATERIALIZED (
    SELECT
        agents.id,
        agents.max_runs - (
            SELECT count(*)
            FROM runs
            WHERE runs.agent_id = agents.id AND runs.offered_at IS NOT NULL
                AND runs.status IN ('queued', 'running', 'waiting')
        ) AS free
    FROM agents
    WHERE agents.id = ANY ($1::uuid[]) AND agents.revoked_at IS NULL
),
next AS MATERIALIZED (
    SELECT waiting.id
    FROM places
    CROSS JOIN LATERAL (
        SELECT runs.id
        FROM runs
        WHERE runs.agent_id = places.id AND runs.offered_at IS NULL AND runs.status = 'queued'
        ORDER BY runs.created_at, runs.id
        LIMIT greatest(places.free, 0)
    ) AS waiting
),
offered AS (
    UPDATE runs
    SET offered_at = now(), reason = 'offered'
    FROM next
    WHERE runs.id = next.id AND runs.offered_at IS NULL AND runs.status = 'queued'
    RETURNING
        runs.id, runs.room_id, runs.agent_id, runs.requester_kind, runs.requester_id, runs.input::text AS input,
        runs.created_at
)
SELECT * FROM offered ORDER BY created_at, id
