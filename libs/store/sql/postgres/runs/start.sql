-- Starts a run for a session that holds a place of its agent: an execution with an empty document, which is a snapshot of its version.
-- Runs under the lock of the agent's stream, so nobody takes the place meanwhile. Gives back how run and session
-- stood; no row when there is no such run.
-- $1 session, $2 run, $3 lease in microseconds
WITH place AS MATERIALIZED (
    SELECT agent_id FROM agent_consumer_cursors WHERE holder_session_id = $1
),
started AS (
    UPDATE runs
    SET status = 'running',
        reason = NULL,
        epoch = runs.epoch + 1,
        attempts = runs.attempts + 1,
        version = runs.version + 1,
        doc = '{"items":[]}',
        doc_version = runs.version + 1,
        holder_session_id = $1,
        lease_until = now() + $3::bigint * interval '1 microsecond',
        started_at = coalesce(runs.started_at, now())
    FROM place
    WHERE runs.id = $2 AND runs.agent_id = place.agent_id AND runs.status = 'queued' AND runs.offered_at IS NOT NULL
    RETURNING runs.id
),
gone AS (
    DELETE FROM run_patches USING started WHERE run_patches.run_id = started.id
)
SELECT
    (SELECT agent_id FROM place) AS agent_id,
    runs.agent_id = (SELECT agent_id FROM place) AS own,
    EXISTS (SELECT FROM started) AS started,
    runs.status IN ('running', 'waiting') AND runs.holder_session_id = $1 AS running,
    runs.status = 'queued' AND runs.offered_at IS NULL AS waits
FROM runs
WHERE runs.id = $2
