-- Takes the text of a message from what agents were told of it: the copy in their streams, and what their runs were asked.
-- ?1 message, ?2 the same as text
UPDATE events
SET data = CASE kind
    WHEN 'message.created' THEN json_object(
        'body', '', 'nonce', data -> 'nonce', 'reply_to', data -> 'reply_to',
        'mentions', data -> 'mentions', 'deleted', json('true')
    )
    ELSE json_object('run_id', data -> 'run_id', 'room_id', data -> 'room_id', 'input', NULL)
END
WHERE id IN (
    SELECT copy.id
    FROM runs AS asked
    JOIN events AS copy
        ON copy.stream_id = asked.agent_id AND copy.sender_id = asked.requester_id AND copy.nonce = ?2
    WHERE asked.message_id = ?1
    UNION ALL
    SELECT told.id
    FROM runs AS asked
    JOIN events AS told ON told.asked_run_id = asked.id
    WHERE asked.message_id = ?1
)
