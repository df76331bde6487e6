-- Removes buckets that are full again: a missing bucket is a full one.
-- ?1 most at once, ?2 now
DELETE FROM rate_buckets WHERE key IN (SELECT key FROM rate_buckets WHERE full_at <= ?2 LIMIT ?1)
