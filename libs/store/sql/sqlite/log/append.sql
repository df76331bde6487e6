-- Writes an event under the number that log/bump gave.
-- ?1 stream, ?2 seq, ?3 id, ?4 kind, ?5 time, ?6 sender kind, ?7 sender, ?8 nonce, ?9 data (JSON text), ?10 trace
INSERT INTO events (stream_id, seq, id, kind, at, sender_kind, sender_id, nonce, data, trace)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
