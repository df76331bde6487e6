-- Locks the subscriptions of devices that a claim still holds, in the order of their ids. What is added to a device's pushes meanwhile is
-- seen by a statement after this.
-- $1 claims, $2 devices
SELECT subscriptions.device_id
FROM push_subscriptions AS subscriptions
JOIN unnest($1::uuid[], $2::uuid[]) AS given (claim, device_id)
    ON given.device_id = subscriptions.device_id AND given.claim = subscriptions.claim
WHERE subscriptions.device_id = ANY ($2::uuid[])
ORDER BY subscriptions.device_id
FOR NO KEY UPDATE OF subscriptions
