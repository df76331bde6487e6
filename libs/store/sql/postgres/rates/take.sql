-- Takes a token of the bucket $1: $2 microseconds bring one back, $3 microseconds fill an empty bucket.
--
-- full_at is when the bucket is full again; each token taken moves it on by $2, and a token is there as
-- long as that stays within $3 from now. "Now" is one reading for the whole statement. A call that waited for the
-- row decides by a clock that is a little behind, which makes it strict, never lenient. A full_at that is out of reach
-- by a minute (longer than any call waits) was written by a clock that was set back: it counts as a bucket with one token.
--
-- Always a row when a token was taken. When none was: a row with the time until one is there, or no row when
-- the bucket is younger than this statement's snapshot.
WITH size AS MATERIALIZED (
    SELECT statement_timestamp() AS now,
        $2::bigint * interval '1 microsecond' AS token,
        statement_timestamp() + $3::bigint * interval '1 microsecond' AS empty
), taken AS (
    INSERT INTO rate_buckets AS bucket (key, full_at)
    SELECT $1, now + token FROM size
    ON CONFLICT (key) DO UPDATE
    SET full_at = (SELECT least(greatest(bucket.full_at, now) + token, empty) FROM size)
    WHERE (
        SELECT bucket.full_at + token <= empty OR bucket.full_at > empty + interval '1 minute' FROM size
    )
    RETURNING true
)
SELECT true AS allowed, 0::bigint AS wait
FROM taken
UNION ALL
SELECT false, (extract(epoch FROM bucket.full_at + size.token - size.empty) * 1000000)::bigint
FROM rate_buckets AS bucket
CROSS JOIN size
WHERE bucket.key = $1 AND NOT EXISTS (SELECT FROM taken)
