-- A listener's round trip to itself, $1 is the payload. The queue's fill level comes along: a listener that
-- doesn't read pins the queue, and a full queue fails the commits of everyone who notifies.
SELECT pg_notification_queue_usage(), pg_notify('ephemeral', $1)
