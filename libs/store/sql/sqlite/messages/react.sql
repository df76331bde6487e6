-- Adds a reaction to a message; writes a row when it was not there before.
-- ?1 message, ?2 who, ?3 emoji
INSERT INTO reactions (event_id, user_id, emoji) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
