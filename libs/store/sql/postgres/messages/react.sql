-- Adds a reaction to a message of a room; gives a row when it was not there before.
-- $1 room, $2 message, $3 who, $4 emoji
INSERT INTO reactions (event_id, user_id, emoji)
SELECT id, $3, $4 FROM events WHERE id = $2 AND stream_id = $1 AND kind = 'message.created'
ON CONFLICT DO NOTHING
RETURNING event_id
