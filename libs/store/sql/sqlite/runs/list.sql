-- The runs of a room (?1) by id before ?2, the newest first, at most ?3.
SELECT * FROM run_documents WHERE room_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3
