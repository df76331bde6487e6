-- How long until the next device is to be looked at, in seconds; no row when none is.
SELECT extract(epoch FROM next_at - clock_timestamp())::float8 AS seconds
FROM push_subscriptions
WHERE next_at < 'infinity'
ORDER BY next_at
LIMIT 1
