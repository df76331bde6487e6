-- Revokes an agent (?1), at ?2.
UPDATE agents SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL
