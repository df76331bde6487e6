-- People whose handle or name in lower case lies from ?1 to before ?2, by id after ?3, at most ?4.
SELECT id, handle, display_name, role
FROM users
WHERE ((handle_lower >= ?1 AND handle_lower < ?2) OR (display_name_lower >= ?1 AND display_name_lower < ?2))
    AND disabled_at IS NULL
    AND (?3 IS NULL OR id > ?3)
ORDER BY id
LIMIT ?4
