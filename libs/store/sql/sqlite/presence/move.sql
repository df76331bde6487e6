-- Notes how a person (?1) is seen (?2) otherwise than before.
UPDATE user_presence SET status = ?2, version = version + 1 WHERE user_id = ?1 RETURNING user_id, status, version
