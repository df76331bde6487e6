-- Creates a room, whose stream is there.
-- ?1 room, ?2 kind, ?3 name, ?4 pair of a dm, ?5 creator, ?6 time
INSERT INTO rooms (id, kind, name, dm_pair, created_by, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
