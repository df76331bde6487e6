-- The tokens of a person's (?1) agents that are not revoked.
SELECT token_id FROM agents WHERE owner_id = ?1 AND revoked_at IS NULL
