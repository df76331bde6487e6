-- Notes what a creating call made.
-- ?1 creator, ?2 key, ?3 room, ?4 time
INSERT INTO idempotency_keys (user_id, key, subject, created_id, created_at) VALUES (?1, ?2, 'room', ?3, ?4)
