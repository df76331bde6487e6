-- Writes a message, unless its id or nonce was used before: nothing is written then.
-- ?1 room, ?2 seq, ?3 id, ?4 time, ?5 sender kind, ?6 sender, ?7 nonce, ?8 data (JSON text), ?9 trace
INSERT INTO events (stream_id, seq, id, kind, at, sender_kind, sender_id, nonce, data, trace)
VALUES (?1, ?2, ?3, 'message.created', ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT DO NOTHING
