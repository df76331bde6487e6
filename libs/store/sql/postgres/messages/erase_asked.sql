-- Takes the text of a message from what agents got of it, under the locks of their runs (messages/lock_asked): the copy in their streams,
-- and what their runs were asked.
-- $1 message
WITH asked AS (
    UPDATE runs SET input = 'null' WHERE message_id = $1 RETURNING id, agent_id, requester_id
)
UPDATE events
SET data = CASE kind
    WHEN 'message.created' THEN json_build_object(
        'body', '', 'nonce', data -> 'nonce', 'reply_to', data -> 'reply_to',
        'mentions', data -> 'mentions', 'deleted', true
    )
    ELSE json_build_object('run_id', data -> 'run_id', 'room_id', data -> 'room_id', 'input', null)
END
WHERE id IN (
    SELECT copy.id
    FROM asked
    JOIN events AS copy
        ON copy.stream_id = asked.agent_id AND copy.sender_id = asked.requester_id AND copy.nonce = $1::uuid::text
    UNION ALL
    SELECT told.id
    FROM asked
    JOIN events AS told ON told.kind = 'run.requested' AND told.data ->> 'run_id' = asked.id::text
)
