-- For each stream the events after a seq, ascending. One index range a stream.
-- The arrays pass through "arrays" so that the planner does not see how long they are, and keeps one plan.
-- $1 stream ids, $2 their kinds, $3 seqs, $4 limit of each
WITH arrays AS MATERIALIZED (
    SELECT $1::uuid[] AS ids, $2::text[] AS kinds, $3::bigint[] AS seqs
)
SELECT
    wanted.kind AS stream_kind, wanted.stream_id,
    found.seq, found.id, found.kind, found.at, found.sender_kind, found.sender_id, found.data, found.trace
FROM arrays
CROSS JOIN unnest(ids, kinds, seqs) WITH ORDINALITY AS wanted (stream_id, kind, after, place)
CROSS JOIN LATERAL (
    SELECT seq, id, kind, at, sender_kind, sender_id, data::text AS data, trace
    FROM events
    WHERE events.stream_id = wanted.stream_id AND events.seq > wanted.after
    ORDER BY seq
    LIMIT $4
) AS found
ORDER BY wanted.place, found.seq
