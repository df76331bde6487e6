-- Gives an agent (?1) another token: ?2 its id, ?3 its hash.
UPDATE agents SET token_id = ?2, token_hash = ?3 WHERE id = ?1
