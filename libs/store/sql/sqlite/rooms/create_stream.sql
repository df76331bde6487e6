-- Begins the stream of a room (?1).
INSERT INTO streams (id, kind) VALUES (?1, 'room')
