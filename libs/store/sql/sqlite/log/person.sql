-- A person (?1) with head and floor of their inbox; no row when there is none, or they are disabled.
SELECT users.id, users.handle, users.display_name, users.role, inbox.head, inbox.floor
FROM users
JOIN streams AS inbox ON inbox.id = users.id
WHERE users.id = ?1 AND users.disabled_at IS NULL
