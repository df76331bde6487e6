-- Ends a run that its holder is done with: the document alone stays.
-- ?1 run, ?2 session, ?3 epoch, ?4 status, ?5 reason, ?6 error, ?7 version that the holder knows, ?8 document, ?9 time
UPDATE runs
SET status = ?4,
    reason = ?5,
    error = ?6,
    doc = ?8,
    version = max(version, ?7) + 1,
    doc_version = max(version, ?7) + 1,
    lease_until = NULL,
    finished_at = ?9
WHERE id = ?1 AND holder_session_id = ?2 AND epoch = ?3 AND status IN ('running', 'waiting')
