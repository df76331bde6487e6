-- Revokes an agent ($1). Under the lock of its inbox.
UPDATE agents SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL
