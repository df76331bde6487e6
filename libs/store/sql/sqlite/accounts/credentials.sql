-- What a sign-in with a handle (?1) is checked against, now (?2).
SELECT id, handle, display_name, role, password_hash, disabled_at IS NOT NULL AS disabled,
    CASE WHEN locked_until > ?2 THEN locked_until END AS locked_until
FROM users
WHERE handle = ?1
