-- Makes notifications of what was just written, and tells each in the person's stream, which is locked: for members of the room who are
-- not disabled, and not for who did it. Whoever was notified of the same thing before is not again, and nobody of an event that this
-- transaction did not write: a message that is sent again is that of then. Gives the events of the streams, in the order given, each with
-- what it is about.
-- $1 ids, $2 ids of their events, $3 people, $4 kinds, $5 rooms, $6 messages, runs or tool calls, $7 events by which they are made
WITH arrays AS MATERIALIZED (
    SELECT $1::uuid[] AS ids, $2::uuid[] AS told, $3::uuid[] AS people, $4::text[] AS kinds, $5::uuid[] AS rooms,
        $6::uuid[] AS sources, $7::uuid[] AS causes
),
given AS MATERIALIZED (
    SELECT notice.*, cause.sender_kind, cause.sender_id, cause.trace,
        CASE WHEN cause.stream_id = notice.room_id THEN cause.seq ELSE 0 END AS seq
    FROM arrays
    CROSS JOIN unnest(ids, told, people, kinds, rooms, sources, causes)
        WITH ORDINALITY AS notice (id, told_id, user_id, kind, room_id, source_id, cause_id, place)
    CROSS JOIN LATERAL (
        SELECT stream_id, events.seq, events.sender_kind, events.sender_id, events.trace
        FROM events
        WHERE events.id = notice.cause_id AND events.xmin = pg_current_xact_id()::xid
        LIMIT 1
    ) AS cause
    CROSS JOIN LATERAL (
        SELECT true AS here
        FROM members
        JOIN users ON users.id = members.member_id
        WHERE members.room_id = notice.room_id AND members.member_id = notice.user_id
            AND members.member_kind = 'user' AND users.disabled_at IS NULL
        LIMIT 1
    ) AS member
    WHERE cause.sender_id IS DISTINCT FROM notice.user_id
),
made AS (
    INSERT INTO notifications (id, user_id, kind, room_id, seq, source_id, sender_kind, sender_id)
    SELECT id, user_id, kind, room_id, seq, source_id, sender_kind, sender_id
    FROM given
    ORDER BY place
    ON CONFLICT (user_id, source_id) DO NOTHING
    RETURNING id
),
numbered AS MATERIALIZED (
    SELECT given.*, row_number() OVER (PARTITION BY given.user_id ORDER BY given.place) AS nth
    FROM given
    JOIN made ON made.id = given.id
),
queued AS (
    INSERT INTO notification_queue (notification_id, user_id) SELECT id, user_id FROM numbered
),
bumped AS (
    UPDATE streams
    SET head = streams.head + counted.events
    FROM (SELECT user_id, count(*) AS events FROM numbered GROUP BY user_id) AS counted
    WHERE streams.id = counted.user_id
    RETURNING streams.id, streams.head - counted.events AS before
),
written AS (
    INSERT INTO events (stream_id, seq, id, kind, sender_kind, sender_id, data, trace)
    SELECT
        numbered.user_id, bumped.before + numbered.nth, numbered.told_id, 'notification.created',
        numbered.sender_kind, numbered.sender_id,
        json_build_object(
            'notification_id', numbered.id, 'kind', numbered.kind, 'room_id', numbered.room_id,
            'seq', numbered.seq, 'source_id', numbered.source_id
        ),
        numbered.trace
    FROM numbered
    LEFT JOIN bumped ON bumped.id = numbered.user_id
    ORDER BY numbered.place
    RETURNING stream_id, seq, id, kind, at, sender_kind, sender_id, data::text AS data, trace
)
SELECT written.*, 'user' AS stream_kind, numbered.source_id
FROM written
JOIN numbered ON numbered.told_id = written.id
ORDER BY numbered.place
