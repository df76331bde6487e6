-- The snapshot of a run (?1).
SELECT doc, doc_version FROM runs WHERE id = ?1
