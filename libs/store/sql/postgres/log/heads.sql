-- Heads of streams with the epoch they belong to, of one snapshot. Always a row; one without id when
-- none of the streams is there.
-- $1 stream ids
SELECT log_state.log_epoch, found.id, found.head
FROM log_state
LEFT JOIN (
    SELECT streams.id, streams.head
    FROM unnest($1::uuid[]) AS wanted (id)
    JOIN streams ON streams.id = wanted.id
) AS found ON true
