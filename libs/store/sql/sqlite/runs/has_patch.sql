-- Whether the patch of a run (?1) that leads to a version (?2) is there: a row if so.
SELECT 1 FROM run_patches WHERE run_id = ?1 AND version = ?2
