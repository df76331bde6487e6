-- A window of streams by id, and of each whether it holds events beyond the limits. One probe a stream: its oldest event tells.
-- ?1 id after which, ?2 streams to look at, ?3 the time before which events are too old, ?4 most events a stream
SELECT
    id,
    head - floor > ?4
    OR (head > floor AND EXISTS (
        SELECT 1
        FROM events
        WHERE events.stream_id = streams.id AND events.seq = streams.floor + 1 AND events.at < ?3
    )) AS spent
FROM streams
WHERE id > ?1
ORDER BY id
LIMIT ?2
