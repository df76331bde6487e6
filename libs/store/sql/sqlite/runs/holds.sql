-- The versions of a run and of its snapshot, while a holder is that.
-- ?1 run, ?2 session, ?3 epoch
SELECT version, doc_version
FROM runs
WHERE id = ?1 AND holder_session_id = ?2 AND epoch = ?3 AND status IN ('running', 'waiting')
