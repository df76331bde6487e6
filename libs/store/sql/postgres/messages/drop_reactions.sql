-- Removes all reactions to a message.
-- $1 message
DELETE FROM reactions WHERE event_id = $1
