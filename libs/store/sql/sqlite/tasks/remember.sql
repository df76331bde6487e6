-- Takes the key of a creating call.
-- ?1 owner, ?2 key, ?3 task, ?4 time
INSERT INTO idempotency_keys (user_id, key, subject, created_id, created_at) VALUES (?1, ?2, 'task', ?3, ?4)
