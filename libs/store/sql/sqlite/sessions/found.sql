-- Whether a person (?1) has or had a sign-in (?2): a row if so.
SELECT 1 FROM auth_sessions WHERE id = ?2 AND user_id = ?1
