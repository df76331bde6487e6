-- The event that a message repeats, and whether it is the same message: by nonce; or by id, for a call without a nonce that is repeated
-- after a lost answer.
-- ?1 room, ?2 sender, ?3 nonce, ?4 id
SELECT seq, id, at, data, trace, kind = 'message.created' AS same
FROM events
WHERE stream_id = ?1 AND sender_id = ?2 AND nonce = ?3
UNION ALL
SELECT
    seq, id, at, data, trace,
    kind = 'message.created' AND stream_id = ?1 AND sender_id IS ?2 AND nonce IS ?3 AS same
FROM events
WHERE id = ?4
LIMIT 1
