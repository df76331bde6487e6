-- Gives a stream (?1) its next number. No row: there is no such stream.
UPDATE streams SET head = head + 1 WHERE id = ?1 RETURNING head
