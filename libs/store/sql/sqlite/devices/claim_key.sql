-- Notes that a person (?1) creates a device (?3) with a key (?2), at ?4, unless they used it before.
INSERT INTO idempotency_keys (user_id, key, subject, created_id, created_at) VALUES (?1, ?2, 'device', ?3, ?4)
ON CONFLICT DO NOTHING
