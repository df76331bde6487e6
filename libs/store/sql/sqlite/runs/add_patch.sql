-- Keeps a patch: ?1 run, ?2 the version that it leads to, ?3 epoch, ?4 operations (JSON text).
INSERT INTO run_patches (run_id, version, epoch, ops) VALUES (?1, ?2, ?3, ?4)
