-- A page of a stream for a person: the newest events before a seq, still oldest first. Else as log/page_after.
-- $1 reader, $2 stream, $3 its kind, $4 seq before which, $5 limit
SELECT
    streams.head, streams.floor, streams.kind AS stream_kind, streams.id AS stream_id,
    page.seq, page.id, page.kind, page.at, page.sender_kind, page.sender_id, page.data, page.trace
FROM users
JOIN streams ON streams.id = $2 AND streams.kind = $3
LEFT JOIN LATERAL (
    SELECT seq, id, kind, at, sender_kind, sender_id, data::text AS data, trace
    FROM events
    WHERE stream_id = $2 AND seq < $4
    ORDER BY seq DESC
    LIMIT $5
) AS page ON true
WHERE users.id = $1 AND users.disabled_at IS NULL
    AND CASE streams.kind
        WHEN 'user' THEN streams.id = users.id
        WHEN 'room' THEN EXISTS (
            SELECT FROM members
            WHERE members.room_id = streams.id AND members.member_id = users.id
                AND members.member_kind = 'user'
        )
        ELSE false
    END
ORDER BY page.seq
