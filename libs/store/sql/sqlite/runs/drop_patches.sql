-- Removes the patches of a run (?1) that lead to versions before ?2.
DELETE FROM run_patches WHERE run_id = ?1 AND version < ?2
