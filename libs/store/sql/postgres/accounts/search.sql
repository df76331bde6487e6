-- People whose handle or name begins with $1 (a LIKE pattern, escaped), by id after $2, at most $3.
SELECT id, handle, display_name, role
FROM users
WHERE (lower(handle) LIKE lower($1) OR lower(display_name) LIKE lower($1))
    AND disabled_at IS NULL
    AND ($2::uuid IS NULL OR id > $2)
ORDER BY id
LIMIT $3
