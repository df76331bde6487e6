-- Heads of streams with the epoch they belong to, of one snapshot. Always a row; one without id when
-- none of the streams is there.
-- OFFSET 0 keeps the array's length from the planner, which so keeps one plan.
-- $1 stream ids
SELECT log_state.log_epoch, found.id, found.head
FROM log_state
LEFT JOIN (
    SELECT streams.id, streams.head
    FROM (SELECT $1::uuid[] AS ids OFFSET 0) AS arrays
    CROSS JOIN unnest(ids) AS wanted (id)
    JOIN streams ON streams.id = wanted.id
) AS found ON true
