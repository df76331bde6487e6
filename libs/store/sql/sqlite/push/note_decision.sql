-- What was decided on a notification, the first time.
-- ?1 notification, ?2 reason, ?3 time
UPDATE notifications SET decision = ?2, decided_at = ?3 WHERE id = ?1 AND decision IS NULL
