-- One event by its id (?1).
SELECT
    streams.kind AS stream_kind, events.stream_id, events.seq, events.id, events.kind, events.at,
    events.sender_kind, events.sender_id, events.data, events.trace
FROM events
JOIN streams ON streams.id = events.stream_id
WHERE events.id = ?1
