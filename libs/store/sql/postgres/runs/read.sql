-- Runs with their documents, whoever asks.
-- $1 runs
SELECT * FROM run_documents WHERE id = ANY ($1::uuid[]) ORDER BY id
