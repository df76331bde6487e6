-- A page of a stream for a person or an agent, oldest first, with head and floor of the same snapshot. No row when the
-- stream is not theirs to read; a row without seq when the page is empty. An agent reads while its owner may.
-- $1 reader, $2 what they are, $3 stream, $4 its kind, $5 seq after which, $6 limit
SELECT
    streams.head, streams.floor, streams.kind AS stream_kind, streams.id AS stream_id,
    page.seq, page.id, page.kind, page.at, page.sender_kind, page.sender_id, page.data, page.trace
FROM streams
LEFT JOIN agents ON agents.id = $1
JOIN users ON users.id = coalesce(agents.owner_id, $1)
LEFT JOIN LATERAL (
    SELECT seq, id, kind, at, sender_kind, sender_id, data::text AS data, trace
    FROM events
    WHERE stream_id = $3 AND seq > $5
    ORDER BY seq
    LIMIT $6
) AS page ON true
WHERE streams.id = $3 AND streams.kind = $4
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
    AND (
        (streams.id = $1 AND streams.kind = $2)
        OR EXISTS (
            SELECT FROM members
            WHERE members.room_id = streams.id AND members.member_id = $1 AND members.member_kind = $2
        )
    )
ORDER BY page.seq
