-- Counts a failed sign-in of $1; the $2nd in a row locks for $3 microseconds and begins to count anew.
-- The update waits for others of the same person and counts on from theirs.
UPDATE users
SET failed_logins = CASE WHEN failed_logins + 1 >= $2::bigint THEN 0 ELSE failed_logins + 1 END,
    locked_until = CASE
        WHEN failed_logins + 1 >= $2::bigint
        THEN greatest(locked_until, now() + $3::bigint * interval '1 microsecond')
        ELSE locked_until
    END
WHERE id = $1
RETURNING CASE WHEN locked_until > now() THEN locked_until END AS locked_until
