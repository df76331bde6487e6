-- Notes what a key was used for, so that the call can be repeated: ?1 owner, ?2 key, ?3 agent, ?4 time.
INSERT INTO idempotency_keys (user_id, key, subject, created_id, created_at) VALUES (?1, ?2, 'agent', ?3, ?4)
