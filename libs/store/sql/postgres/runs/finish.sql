-- Ends a run that its holder is done with, under its lock (runs/lock): the document alone stays.
-- $1 run, $2 session, $3 epoch, $4 status, $5 reason, $6 error, $7 version that the holder knows, $8 document
WITH ended AS (
    UPDATE runs
    SET status = $4,
        reason = $5,
        error = $6,
        doc = $8,
        version = greatest(runs.version, $7) + 1,
        doc_version = greatest(runs.version, $7) + 1,
        lease_until = NULL,
        finished_at = now()
    WHERE id = $1 AND holder_session_id = $2 AND epoch = $3 AND status IN ('running', 'waiting')
    RETURNING id, room_id, agent_id, status
),
gone AS (
    DELETE FROM run_patches USING ended WHERE run_patches.run_id = ended.id
)
SELECT * FROM ended
