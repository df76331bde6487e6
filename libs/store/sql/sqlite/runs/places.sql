-- How many places of an agent (?1) are free: while fewer runs than max_runs are offered or worked on. No row when it is revoked.
SELECT
    max_runs - (
        SELECT count(*)
        FROM runs
        WHERE runs.agent_id = agents.id AND runs.offered_at IS NOT NULL
            AND runs.status IN ('queued', 'running', 'waiting')
    ) AS free
FROM agents
WHERE id = ?1 AND revoked_at IS NULL
