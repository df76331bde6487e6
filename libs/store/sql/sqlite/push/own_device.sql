-- Whether a device (?1) is a person's (?2): a row if so.
SELECT 1 FROM devices WHERE id = ?1 AND user_id = ?2
