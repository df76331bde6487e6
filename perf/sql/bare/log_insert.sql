-- Keeps messages of one stream as the log does, all in one commit.
-- $1 stream, $2 seq before the first, $3 ids, $4 nonces, $5 bodies
INSERT INTO bare_log (stream_id, seq, id, kind, sender_kind, sender_id, nonce, data)
SELECT
    $1, $2 + given.place, given.id, 'message.created', 'user', $1, given.nonce,
    json_build_object('body', given.body, 'nonce', given.nonce, 'reply_to', null, 'mentions', json_build_array())
FROM unnest($3::uuid[], $4::text[], $5::text[]) WITH ORDINALITY AS given (id, nonce, body, place)
