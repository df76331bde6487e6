-- The revision, and all keys by when they sign; one row without a key where there is none.
SELECT signing_manifest.revision, kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by, sealed
FROM signing_manifest
LEFT JOIN signing_keys ON true
ORDER BY signs_from, kid
