-- Appends a batch of messages whose streams the transaction has locked before (log/lock.sql), in
-- the order of the arrays. One row per message comes back, in that order:
--   verdict 0 written now
--   verdict 1 repeats an event of the log, which is given in full
--   verdict 2 repeats the message at position "same_as" of this batch
--   verdict 3 refused: no such room, not a member, or disabled (of an agent: it is revoked, or its owner is disabled)
--   verdict 4 refused: nonce or id was used for something else
--   verdict 5 refused: reply_to is no message of this room
-- Every look-up is a lateral one with LIMIT 1: an index probe per message, whatever the planner
-- believes of the tables. The arrays pass through "given" so that the planner does not see how long they are:
-- it would plan anew for each batch (half a millisecond), as a short one looks cheaper than what it keeps.
-- $1 ids, $2 rooms, $3 kinds of senders, $4 senders, $5 nonces, $6 data, $7 messages replied to, $8 traces
WITH given AS MATERIALIZED (
    SELECT $1::uuid[] AS ids, $2::uuid[] AS rooms, $3::text[] AS sender_kinds, $4::uuid[] AS senders,
        $5::text[] AS nonces, $6::text[] AS data, $7::uuid[] AS replies, $8::text[] AS traces
),
input AS MATERIALIZED (
    SELECT message.*
    FROM given
    CROSS JOIN unnest(ids, rooms, sender_kinds, senders, nonces, given.data, replies, traces)
        WITH ORDINALITY AS message (id, room, sender_kind, sender, nonce, data, reply_to, trace, position)
),
judged AS MATERIALIZED (
    SELECT
        input.*,
        CASE
            WHEN member.allowed IS NULL THEN 3
            WHEN known.id IS NOT NULL THEN CASE WHEN known.same THEN 1 ELSE 4 END
            WHEN input.reply_to IS NOT NULL AND target.found IS NULL THEN 5
            ELSE 0
        END AS verdict,
        known.seq AS known_seq,
        known.id AS known_id,
        known.at AS known_at,
        known.data AS known_data,
        known.trace AS known_trace
    FROM input
    LEFT JOIN LATERAL (
        SELECT true AS allowed
        FROM members
        LEFT JOIN agents ON agents.id = members.member_id
        JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
        WHERE members.room_id = input.room AND members.member_id = input.sender
            AND members.member_kind = input.sender_kind
            AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
        LIMIT 1
    ) AS member ON true
    -- By nonce; or by id, for a call without a nonce that is repeated after a lost answer.
    LEFT JOIN LATERAL (
        SELECT seq, id, at, data, trace, kind = 'message.created' AS same
        FROM events
        WHERE stream_id = input.room AND sender_id = input.sender AND nonce = input.nonce
        UNION ALL
        SELECT
            seq, id, at, data, trace,
            kind = 'message.created' AND stream_id = input.room AND sender_id = input.sender
                AND nonce IS NOT DISTINCT FROM input.nonce
        FROM events
        WHERE id = input.id
        LIMIT 1
    ) AS known ON true
    LEFT JOIN LATERAL (
        SELECT true AS found
        FROM events
        WHERE id = input.reply_to AND stream_id = input.room AND kind = 'message.created'
        LIMIT 1
    ) AS target ON input.reply_to IS NOT NULL
),
-- Of several with one nonce the first that is not refused is written, those behind repeat it, whatever they reply to:
-- as they would had they come after its commit.
ranked AS MATERIALIZED (
    SELECT
        position, id, room, sender_kind, sender, nonce, data, trace,
        min(position) FILTER (WHERE verdict = 0) OVER (
            PARTITION BY room, sender, nonce, CASE WHEN nonce IS NULL THEN id END
        ) AS first
    FROM judged
    WHERE verdict IN (0, 5)
),
fresh AS MATERIALIZED (
    SELECT ranked.*, row_number() OVER (PARTITION BY room ORDER BY position) AS nth
    FROM ranked
    WHERE position = first
),
grown AS (
    UPDATE streams
    SET head = streams.head + counted.events
    FROM (SELECT room, count(*) AS events FROM fresh GROUP BY room) AS counted
    WHERE streams.id = counted.room
    RETURNING streams.id, streams.head - counted.events AS head_before
),
-- One time for the batch, taken under the locks: within a stream it never goes back.
clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at
),
written AS (
    INSERT INTO events (stream_id, seq, id, kind, at, sender_kind, sender_id, nonce, data, trace)
    SELECT
        fresh.room, grown.head_before + fresh.nth, fresh.id, 'message.created', clock.at,
        fresh.sender_kind, fresh.sender, fresh.nonce, fresh.data::json, fresh.trace
    FROM fresh
    JOIN grown ON grown.id = fresh.room
    CROSS JOIN clock
    RETURNING id, seq, at
)
SELECT
    CASE WHEN ranked.first < judged.position THEN 2 ELSE judged.verdict END AS verdict,
    ranked.first AS same_as,
    coalesce(written.seq, judged.known_seq) AS seq,
    coalesce(written.id, judged.known_id) AS id,
    coalesce(written.at, judged.known_at) AS at,
    judged.known_data::text AS data,
    judged.known_trace AS trace
FROM judged
LEFT JOIN ranked ON ranked.position = judged.position
LEFT JOIN written ON written.id = judged.id AND ranked.first = judged.position
ORDER BY judged.position
