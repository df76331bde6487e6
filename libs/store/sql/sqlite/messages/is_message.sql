-- Whether a room (?1) has a message (?2): a row if so.
SELECT 1 FROM events WHERE id = ?2 AND stream_id = ?1 AND kind = 'message.created'
