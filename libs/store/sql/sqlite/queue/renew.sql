-- Renews a worker's session, if it is good still. No row written: it is over.
-- ?1 session, ?2 until when its lease is good, ?3 time
UPDATE task_workers SET lease_until = ?2 WHERE id = ?1 AND lease_until > ?3
