-- A run (?1) with its document, whoever asks.
SELECT * FROM run_documents WHERE id = ?1
