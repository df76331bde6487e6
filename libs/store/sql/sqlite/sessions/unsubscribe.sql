-- Forgets where a sign-in (?1) subscribed; what waits goes with it.
DELETE FROM push_subscriptions WHERE session_id = ?1
