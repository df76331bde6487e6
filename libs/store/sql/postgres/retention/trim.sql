-- Removes the oldest events beyond the limits from streams that are locked (retention/lock), and moves
-- their floors to the newest event removed. Only what follows on the floor without a hole goes.
-- $1 stream ids, $2 most events to remove, $3 greatest age in microseconds (0: any), $4 most events a stream (0: any)
WITH oldest AS MATERIALIZED (
    SELECT streams.id, streams.head, event.seq, event.at
    FROM streams
    CROSS JOIN LATERAL (
        SELECT seq, at FROM events
        WHERE events.stream_id = streams.id AND events.seq > streams.floor
        ORDER BY seq
        LIMIT $2
    ) AS event
    WHERE streams.id = ANY ($1::uuid[])
    ORDER BY streams.id, event.seq
    LIMIT $2
),
cut AS MATERIALIZED (
    SELECT id, least(max(seq), greatest(
        CASE WHEN $4::bigint > 0 THEN max(head) - $4 ELSE 0 END,
        -- Up to the first that is young enough: clocks may step back, prefixes have no holes.
        CASE WHEN $3::bigint > 0 THEN
            coalesce(min(seq) FILTER (WHERE at >= now() - $3 * interval '1 microsecond') - 1, max(seq))
        ELSE 0 END
    )) AS last_gone
    FROM oldest
    GROUP BY id
),
gone AS (
    DELETE FROM events
    USING oldest, cut
    WHERE cut.id = oldest.id AND oldest.seq <= cut.last_gone
        AND events.stream_id = oldest.id AND events.seq = oldest.seq
    RETURNING events.stream_id, events.seq
),
moved AS (
    UPDATE streams
    SET floor = newest.seq
    FROM (SELECT stream_id, max(seq) AS seq FROM gone GROUP BY stream_id) AS newest
    WHERE streams.id = newest.stream_id
)
SELECT count(*) AS removed FROM gone
