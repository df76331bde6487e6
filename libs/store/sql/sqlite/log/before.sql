-- The events of a stream (?1, ?2 its kind) before a seq (?3), descending, at most ?4.
SELECT ?2 AS stream_kind, stream_id, seq, id, kind, at, sender_kind, sender_id, data, trace
FROM events
WHERE stream_id = ?1 AND seq < ?3
ORDER BY seq DESC
LIMIT ?4
