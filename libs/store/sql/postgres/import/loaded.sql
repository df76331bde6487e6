-- Notes a batch of the table $1, in the transaction that loads it: it has $2 rows and $3 bytes of its file then, and had $4 bytes before.
UPDATE import_progress SET rows = $2, bytes = $3 WHERE name = $1 AND bytes = $4 RETURNING name
