-- Adds a key: ?1 id, ?2 made, ?3 signs from, ?4 withdrawn, ?5 retired, ?6 microseconds of a token's life, ?7 made by, ?8 private part.
INSERT INTO signing_keys (kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by, sealed)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
