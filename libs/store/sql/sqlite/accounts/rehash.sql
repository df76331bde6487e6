-- Replaces the password hash of ?1 by ?3 while it is ?2: one that was set meanwhile stays.
UPDATE users SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2
