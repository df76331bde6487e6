-- Counts a failed sign-in of ?1; the ?2nd in a row locks until ?3 and begins to count anew. Until when it is locked, if it is now (?4).
UPDATE users
SET failed_logins = CASE WHEN failed_logins + 1 >= ?2 THEN 0 ELSE failed_logins + 1 END,
    locked_until = CASE
        WHEN failed_logins + 1 >= ?2 THEN max(coalesce(locked_until, ?3), ?3)
        ELSE locked_until
    END
WHERE id = ?1
RETURNING CASE WHEN locked_until > ?4 THEN locked_until END AS locked_until
