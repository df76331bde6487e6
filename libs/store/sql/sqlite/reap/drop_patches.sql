-- Removes the patches of a run (?1).
DELETE FROM run_patches WHERE run_id = ?1
