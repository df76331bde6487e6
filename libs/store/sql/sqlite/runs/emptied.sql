-- Which of the runs that sessions (?1) work on have lost their newest patch.
SELECT id
FROM runs
WHERE holder_session_id IN rarray(?1) AND status IN ('running', 'waiting') AND version > doc_version
    AND NOT EXISTS (
        SELECT 1 FROM run_patches WHERE run_patches.run_id = runs.id AND run_patches.version = runs.version
    )
ORDER BY id
