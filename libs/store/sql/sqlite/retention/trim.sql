-- Removes the events of a stream up to a number; what hangs on them goes with them.
-- ?1 stream, ?2 seq
DELETE FROM events WHERE stream_id = ?1 AND seq <= ?2
