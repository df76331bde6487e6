-- Keeps the document of a run that is over as a whole, and removes its patches, unless somebody else did so.
-- $1 run, $2 version of the snapshot that it was made of, $3 document, $4 its version
WITH folded AS (
    UPDATE runs
    SET doc = $3, doc_version = $4
    WHERE id = $1 AND doc_version = $2 AND status NOT IN ('queued', 'running', 'waiting')
    RETURNING id
),
gone AS (
    DELETE FROM run_patches USING folded WHERE run_patches.run_id = folded.id
)
SELECT id FROM folded
