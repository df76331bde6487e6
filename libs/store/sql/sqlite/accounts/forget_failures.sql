-- Forgets the failed sign-ins of ?1, writing only when there are some. A lock that another attempt set meanwhile stands.
UPDATE users SET failed_logins = 0 WHERE id = ?1 AND failed_logins <> 0
