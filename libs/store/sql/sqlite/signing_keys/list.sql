-- All keys by when they sign.
SELECT kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by, sealed
FROM signing_keys
ORDER BY signs_from, kid
