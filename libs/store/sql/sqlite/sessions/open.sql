-- Opens a sign-in: ?1 id, ?2 person, ?3 device, ?4 time, ?5 when its token is past its time.
INSERT INTO auth_sessions (id, user_id, device_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
