-- Moves a run from where it stood. One that its holder loses keeps its place.
-- ?1 run, ?2 its epoch, ?3 its status before, ?4 status after, ?5 reason, ?6 attempts that do not count, ?7 time
UPDATE runs
SET status = ?4,
    reason = ?5,
    attempts = max(attempts - ?6, 0),
    holder_session_id = CASE WHEN ?4 <> 'queued' THEN holder_session_id END,
    lease_until = NULL,
    offered_at = CASE WHEN ?4 = 'queued' THEN ?7 ELSE offered_at END,
    finished_at = CASE WHEN ?4 <> 'queued' THEN ?7 END
WHERE id = ?1 AND epoch = ?2 AND status = ?3
