-- Removes buckets that are full again, at most $1: a missing bucket is a full one.
WITH spent AS MATERIALIZED (
    SELECT key FROM rate_buckets WHERE full_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED
)
DELETE FROM rate_buckets USING spent WHERE rate_buckets.key = spent.key
RETURNING true
