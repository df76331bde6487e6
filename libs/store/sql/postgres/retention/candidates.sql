-- Which streams hold events beyond the limits, of a window of streams by id. The last stream of the window comes back
-- in any case: the next window begins after it. One probe a stream: its oldest event tells.
-- $1 id after which, $2 streams to look at, $3 greatest age in microseconds (0: any), $4 most events a stream (0: any)
WITH looked_at AS MATERIALIZED (
    SELECT id, head, floor, row_number() OVER (ORDER BY id DESC) AS from_last
    FROM (SELECT id, head, floor FROM streams WHERE id > $1 ORDER BY id LIMIT $2) AS next
),
judged AS (
    SELECT
        id, from_last,
        ($4::bigint > 0 AND head - floor > $4)
        OR ($3::bigint > 0 AND head > floor AND EXISTS (
            SELECT FROM events
            WHERE events.stream_id = looked_at.id AND events.seq = looked_at.floor + 1
                AND events.at < now() - $3 * interval '1 microsecond'
        )) AS spent
    FROM looked_at
)
SELECT id, spent FROM judged WHERE spent OR from_last = 1 ORDER BY id
