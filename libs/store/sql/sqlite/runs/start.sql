-- Starts a run: an execution with an empty document, which is a snapshot of its version.
-- ?1 run, ?2 session, ?3 end of its lease, ?4 time
UPDATE runs
SET status = 'running',
    reason = NULL,
    epoch = epoch + 1,
    attempts = attempts + 1,
    version = version + 1,
    doc = '{"items":[]}',
    doc_version = version + 1,
    holder_session_id = ?2,
    lease_until = ?3,
    started_at = coalesce(started_at, ?4)
WHERE id = ?1
