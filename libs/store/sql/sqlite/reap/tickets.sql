-- Removes tickets past their time.
-- ?1 most at once, ?2 now
DELETE FROM tickets WHERE hash IN (SELECT hash FROM tickets WHERE expires_at <= ?2 LIMIT ?1)
