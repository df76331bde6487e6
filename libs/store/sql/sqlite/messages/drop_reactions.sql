-- Removes all reactions to a message (?1).
DELETE FROM reactions WHERE event_id = ?1
