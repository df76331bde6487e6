-- When the bucket ?1 is full again; no row when it is.
SELECT full_at FROM rate_buckets WHERE key = ?1
