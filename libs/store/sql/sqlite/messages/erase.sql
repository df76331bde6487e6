-- Takes the text out of a message and of its edits. Only the fields that are named here stay: what a newer
-- release may keep beside the body goes with it.
-- ?1 room, ?2 message
-- "+": the few are found by their ids, not among all that was said in the room.
UPDATE events
SET data = CASE kind
    WHEN 'message.created' THEN json_object(
        'body', '', 'nonce', data -> 'nonce', 'reply_to', data -> 'reply_to',
        'mentions', data -> 'mentions', 'deleted', json('true')
    )
    ELSE json_object(
        'event_id', data -> 'event_id', 'body', '', 'mentions', data -> 'mentions', 'deleted', json('true')
    )
END
WHERE +stream_id = ?1 AND id IN (SELECT ?2 UNION ALL SELECT id FROM events WHERE about_id = ?2)
