-- Removes the oldest events beyond the limits from streams that are locked (retention/lock), and moves
-- their floors to the newest event removed. Only what follows on the floor without a hole goes.
-- $1 stream ids, $2 most events to remove, $3 greatest age in microseconds (0: any), $4 most events a stream (0: any)
WITH cut AS MATERIALIZED (
    SELECT
        streams.id, streams.floor,
        greatest(
            CASE WHEN $4::bigint > 0 THEN streams.head - $4 ELSE 0 END,
            CASE WHEN $3::bigint > 0 THEN coalesce(young.seq - 1, streams.floor + $2::bigint) ELSE 0 END
        ) AS last_gone
    FROM streams
    -- The first that is young enough, if it is among those that may go now: clocks step back, prefixes have no holes.
    LEFT JOIN LATERAL (
        SELECT next.seq
        FROM (
            SELECT seq, at FROM events
            WHERE events.stream_id = streams.id AND events.seq > streams.floor
            ORDER BY seq
            LIMIT $2
        ) AS next
        WHERE $3::bigint > 0 AND next.at >= now() - $3::bigint * interval '1 microsecond'
        ORDER BY next.seq
        LIMIT 1
    ) AS young ON true
    WHERE streams.id = ANY ($1::uuid[])
),
oldest AS MATERIALIZED (
    SELECT cut.id, event.seq
    FROM cut
    CROSS JOIN LATERAL (
        SELECT seq FROM events
        WHERE events.stream_id = cut.id AND events.seq > cut.floor AND events.seq <= cut.last_gone
        ORDER BY seq
        LIMIT $2
    ) AS event
    ORDER BY cut.id, event.seq
    LIMIT $2
),
gone AS (
    DELETE FROM events
    USING oldest
    WHERE events.stream_id = oldest.id AND events.seq = oldest.seq
    RETURNING events.stream_id, events.seq
),
moved AS (
    UPDATE streams
    SET floor = newest.seq
    FROM (SELECT stream_id, max(seq) AS seq FROM gone GROUP BY stream_id) AS newest
    WHERE streams.id = newest.stream_id
)
SELECT count(*) AS removed FROM gone
