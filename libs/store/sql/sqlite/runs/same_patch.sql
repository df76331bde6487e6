-- Whether the patch of a run (?1) that leads to a version (?2) is this one: of the epoch ?3, with the operations ?4. A row if so.
SELECT 1 FROM run_patches WHERE run_id = ?1 AND version = ?2 AND epoch = ?3 AND ops = ?4
