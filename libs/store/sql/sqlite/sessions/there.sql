-- Whether there is or was a sign-in of this id (?1), whosever: a row if so.
SELECT 1 FROM auth_sessions WHERE id = ?1
