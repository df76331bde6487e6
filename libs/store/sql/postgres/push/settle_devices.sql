-- Gives devices back that were claimed, under their locks (push/lock_devices) and after push/finish: looked at again at once when more waits.
-- $1 devices, $2 microseconds before which nothing is sent to them (null: at once), $3 whether the last send failed, $4 what it came to (null:
-- nothing was sent), $5 whether the push to try it was sent, which is no answer to a request that came after the claim
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::uuid[], $2::bigint[], $3::boolean[], $4::text[], $5::boolean[])
        AS done (device_id, pause, failed, result, tested)
),
tests AS MATERIALIZED (
    SELECT
        given.*,
        CASE WHEN NOT given.tested OR asked.test_at > asked.claimed_at THEN asked.test_at END AS test_at
    FROM given
    JOIN push_subscriptions AS asked ON asked.device_id = given.device_id
    WHERE asked.device_id = ANY ($1::uuid[])
)
UPDATE push_subscriptions AS subscriptions
SET claim = NULL,
    not_before = CASE
        WHEN given.pause IS NULL THEN '-infinity'
        ELSE clock_timestamp() + given.pause * interval '1 microsecond'
    END,
    next_at = CASE
        WHEN NOT EXISTS (SELECT FROM push_deliveries WHERE push_deliveries.device_id = subscriptions.device_id)
            AND given.test_at IS NULL
        THEN 'infinity'
        ELSE clock_timestamp() + coalesce(given.pause, 0) * interval '1 microsecond'
    END,
    test_at = given.test_at,
    failures = CASE
        WHEN given.failed THEN subscriptions.failures + 1
        WHEN given.result IS NULL THEN subscriptions.failures
        ELSE 0
    END,
    last_at = CASE WHEN given.result IS NULL THEN subscriptions.last_at ELSE clock_timestamp() END,
    last_result = coalesce(given.result, subscriptions.last_result)
FROM tests AS given
WHERE subscriptions.device_id = ANY ($1::uuid[]) AND subscriptions.device_id = given.device_id
