-- A person by id (?1).
SELECT id, handle, display_name, role FROM users WHERE id = ?1
