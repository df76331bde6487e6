-- What a person wants of notifications; no row while they have not said.
-- ?1 person
SELECT preferences FROM notification_preferences WHERE user_id = ?1
