-- Adds a device like devices/create unless the person used the key ($5) before; of two calls the second waits
-- for the first. No row: the key was used.
WITH claimed AS (
    INSERT INTO idempotency_keys (user_id, key, subject, created_id)
    VALUES ($2, $5, 'device', $1)
    ON CONFLICT DO NOTHING
    RETURNING created_id
)
INSERT INTO devices (id, user_id, kind, name)
SELECT created_id, $2, $3, $4 FROM claimed
RETURNING id, kind, name, created_at
