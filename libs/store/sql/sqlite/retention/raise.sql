-- Notes the newest event of a stream that is no longer kept.
-- ?1 stream, ?2 seq
UPDATE streams SET floor = ?2 WHERE id = ?1
