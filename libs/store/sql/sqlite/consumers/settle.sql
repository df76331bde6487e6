-- Notes how agents (?1) are seen at ?2, and gives back those for whom that is a change. Who was never connected is not noted.
INSERT INTO agent_presence AS noted (agent_id, status, version)
SELECT seen.id, seen.status, 1
FROM (
    SELECT
        agents.id,
        CASE
            WHEN agents.revoked_at IS NOT NULL OR users.disabled_at IS NOT NULL OR NOT EXISTS (
                SELECT 1
                FROM agent_consumer_cursors AS consumer
                WHERE consumer.agent_id = agents.id AND consumer.live_until > ?2
            ) THEN 'offline'
            WHEN (
                SELECT count(*)
                FROM runs
                WHERE runs.agent_id = agents.id AND runs.offered_at IS NOT NULL
                    AND runs.status IN ('queued', 'running', 'waiting') AND runs.status <> 'queued'
            ) >= agents.max_runs THEN 'busy'
            ELSE 'online'
        END AS status
    FROM agents
    JOIN users ON users.id = agents.owner_id
    WHERE agents.id IN rarray(?1)
) AS seen
WHERE seen.status <> 'offline' OR EXISTS (SELECT 1 FROM agent_presence WHERE agent_presence.agent_id = seen.id)
ON CONFLICT (agent_id) DO UPDATE
SET status = excluded.status, version = noted.version + 1
WHERE noted.status <> excluded.status
RETURNING agent_id, status, version
