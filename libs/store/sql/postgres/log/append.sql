-- Appends events, given as arrays of equal length, in their order: bumps the head of each stream by
-- what it gets, and numbers the events without holes up to it.
-- $1 stream ids, $2 event ids, $3 kinds, $4 sender kinds, $5 sender ids, $6 nonces, $7 data (JSON text), $8 traces.
-- An event of a stream that does not exist has no seq, which the table refuses: nothing is written then.
-- Several streams must have been locked before (log/lock); one alone is locked by its update.
-- The arrays pass through "arrays" so that the planner does not see how long they are, and keeps one plan.
WITH arrays AS MATERIALIZED (
    SELECT $1::uuid[] AS streams, $2::uuid[] AS ids, $3::text[] AS kinds, $4::text[] AS sender_kinds,
        $5::uuid[] AS senders, $6::text[] AS nonces, $7::text[] AS data, $8::text[] AS traces
),
given AS (
    SELECT event.*, row_number() OVER (PARTITION BY event.stream_id ORDER BY event.place) AS nth
    FROM arrays
    CROSS JOIN unnest(streams, ids, kinds, sender_kinds, senders, nonces, arrays.data, traces)
        WITH ORDINALITY AS event (stream_id, id, kind, sender_kind, sender_id, nonce, data, trace, place)
),
counted AS (
    SELECT stream_id, count(*) AS events FROM given GROUP BY stream_id
),
bumped AS (
    UPDATE streams
    SET head = streams.head + counted.events
    FROM counted
    WHERE streams.id = counted.stream_id
    RETURNING streams.id, streams.head - counted.events AS before
)
INSERT INTO events (stream_id, seq, id, kind, sender_kind, sender_id, nonce, data, trace)
SELECT given.stream_id, bumped.before + given.nth, given.id, given.kind, given.sender_kind, given.sender_id,
    given.nonce, given.data::json, given.trace
FROM given
LEFT JOIN bumped ON bumped.id = given.stream_id
ORDER BY given.place
RETURNING id, seq, at
