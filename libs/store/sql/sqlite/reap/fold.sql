-- Keeps the document of a run that is over as a whole, unless it is no longer made of the snapshot that it was.
-- ?1 run, ?2 version of the snapshot, ?3 document, ?4 its version
UPDATE runs
SET doc = ?3, doc_version = ?4
WHERE id = ?1 AND doc_version = ?2 AND status NOT IN ('queued', 'running', 'waiting')
