-- Adds a signing key that came from a directory: $1 id, $2 made, $3 signs from, $4 withdrawn, $5 retired, $6 longest life of a token in microseconds,
-- $7 who made it, $8 its private part, sealed.
INSERT INTO signing_keys (kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by, sealed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
