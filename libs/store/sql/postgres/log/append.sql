-- Appends events, given as arrays of equal length, in their order: bumps the head of each stream by
-- what it gets, and numbers the events without holes up to it.
-- $1 stream ids, $2 event ids, $3 kinds, $4 sender kinds, $5 sender ids, $6 nonces, $7 data (JSON text), $8 traces.
-- An event of a stream that does not exist has no seq, which the table refuses: nothing is written then.
-- Several streams must have been locked before (log/lock); one alone is locked by its update.
WITH given AS (
    SELECT *, row_number() OVER (PARTITION BY stream_id ORDER BY place) AS nth
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[])
        WITH ORDINALITY AS given (stream_id, id, kind, sender_kind, sender_id, nonce, data, trace, place)
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
