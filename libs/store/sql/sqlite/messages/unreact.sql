-- Takes a reaction back; writes a row when it was there.
-- ?1 message, ?2 who, ?3 emoji
DELETE FROM reactions WHERE event_id = ?1 AND user_id = ?2 AND emoji = ?3
