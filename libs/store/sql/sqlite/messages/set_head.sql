-- Notes the head of a room (?1) to which messages were written: ?2.
UPDATE streams SET head = ?2 WHERE id = ?1
