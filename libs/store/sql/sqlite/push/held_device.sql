-- When a device (?1) was claimed and a push to try it was asked for; no row when the claim (?2) holds it no more.
SELECT test_at, claimed_at FROM push_subscriptions WHERE device_id = ?1 AND claim = ?2
