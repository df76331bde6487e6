-- Adds a device: ?1 id, ?2 person, ?3 kind, ?4 name, ?5 time.
INSERT INTO devices (id, user_id, kind, name, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
