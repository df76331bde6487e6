-- When the next device is to be looked at; no row when none is.
SELECT next_at AS due_at FROM push_subscriptions WHERE next_at < 1000000000000000000 ORDER BY next_at LIMIT 1
