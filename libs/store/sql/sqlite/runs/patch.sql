-- Raises a run (?1) to a version (?2), with a snapshot (?3) of it or none.
UPDATE runs
SET version = ?2,
    doc = coalesce(?3, doc),
    doc_version = CASE WHEN ?3 IS NULL THEN doc_version ELSE ?2 END
WHERE id = ?1
