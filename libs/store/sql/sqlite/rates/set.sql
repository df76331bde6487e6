-- The bucket ?1 is full again at ?2.
INSERT INTO rate_buckets (key, full_at) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET full_at = ?2
