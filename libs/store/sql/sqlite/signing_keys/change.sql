-- Changes a key (?1): ?2 signs from, ?3 withdrawn, ?4 retired, ?5 microseconds of a token's life.
UPDATE signing_keys SET signs_from = ?2, withdrawn = ?3, retired_at = ?4, token_life = ?5 WHERE kid = ?1
