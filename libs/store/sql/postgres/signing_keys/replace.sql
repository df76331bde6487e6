-- Puts keys ($2 ids, and in the same order $3 made, $4 sign from, $5 withdrawn, $6 retired, $7 microseconds of a token's life, $8 made by)
-- in place of those of revision $1. $9 and $10: id and private part of the one that is not there yet. No row: the revision is another.
-- The row of the revision is locked first, and a statement sees the keys as they were when it began: they have not changed since, or the
-- revision would have.
WITH won AS (
    UPDATE signing_manifest SET revision = $1::bigint + 1, written_at = now() WHERE revision = $1 RETURNING revision
),
kept AS (
    SELECT kept.*
    FROM unnest(
        $2::text[], $3::timestamptz[], $4::timestamptz[], $5::boolean[], $6::timestamptz[], $7::bigint[], $8::text[]
    ) AS kept (kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by), won
),
changed AS (
    UPDATE signing_keys
    SET signs_from = kept.signs_from, withdrawn = kept.withdrawn, retired_at = kept.retired_at, token_life = kept.token_life
    FROM kept
    WHERE signing_keys.kid = kept.kid
),
removed AS (
    DELETE FROM signing_keys USING won WHERE signing_keys.kid <> ALL ($2)
),
added AS (
    INSERT INTO signing_keys (kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by, sealed)
    SELECT kid, created_at, signs_from, withdrawn, retired_at, token_life, made_by, $10::bytea
    FROM kept
    WHERE kid = $9::text
)
SELECT revision FROM won
