-- The devices of a person (?1) that have a subscription are looked at now (?2), or once they rest no more.
UPDATE push_subscriptions
SET next_at = CASE
    -- Who has a device sees the push when it is given back.
    WHEN claim IS NULL OR next_at <= ?2 THEN min(next_at, max(not_before, ?2))
    ELSE next_at
END
WHERE user_id = ?1
