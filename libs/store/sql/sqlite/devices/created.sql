-- What a person (?1) created with a key (?2); the device is null when it is gone, or was none.
SELECT idempotency_keys.subject, devices.id, devices.kind, devices.name, devices.created_at
FROM idempotency_keys
LEFT JOIN devices ON devices.id = idempotency_keys.created_id AND devices.user_id = idempotency_keys.user_id
WHERE idempotency_keys.user_id = ?1 AND idempotency_keys.key = ?2
