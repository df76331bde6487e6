-- The patches of a run (?1) that lead to versions after ?2, in their order.
SELECT version, ops FROM run_patches WHERE run_id = ?1 AND version > ?2 ORDER BY version
