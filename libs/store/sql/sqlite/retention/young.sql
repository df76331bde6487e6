-- The first event of a stream that is young enough to stay, if it is among those that may go now: clocks step back, what goes has no
-- holes.
-- ?1 stream, ?2 its floor, ?3 how many may go, ?4 the time before which events are too old
SELECT seq
FROM (SELECT seq, at FROM events WHERE stream_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3) AS next
WHERE at >= ?4
ORDER BY seq
LIMIT 1
