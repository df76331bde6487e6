-- Documents of runs that are over and have patches still: whoever worked on them did not end them. Nobody writes them any more.
-- ?1 most at once
SELECT run_documents.id, run_documents.doc, run_documents.doc_version, run_documents.versions, run_documents.ops
FROM (
    SELECT runs.id
    FROM (SELECT DISTINCT run_id FROM run_patches) AS patched
    JOIN runs ON runs.id = patched.run_id
    WHERE runs.status NOT IN ('queued', 'running', 'waiting')
    LIMIT ?1
) AS left_over
JOIN run_documents ON run_documents.id = left_over.id
