-- One notification of a person.
-- ?1 person, ?2 notification
SELECT * FROM notification_facts WHERE id = ?2 AND user_id = ?1
