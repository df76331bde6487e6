-- Creates a person: ?1 id, ?2 handle, ?3 display name, ?4 and ?5 both in lower case, ?6 role, ?7 password hash, ?8 time.
INSERT INTO users (id, handle, display_name, handle_lower, display_name_lower, role, password_hash, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
