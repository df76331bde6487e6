-- Gives an agent ($1) that is not revoked another token: $2 its id, $3 its hash. Under the lock of its inbox.
UPDATE agents SET token_id = $2, token_hash = $3 WHERE id = $1 AND revoked_at IS NULL
RETURNING id
