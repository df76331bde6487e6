-- All that a decision needs to know of notifications (?1).
SELECT * FROM notification_facts WHERE id IN rarray(?1) ORDER BY id
