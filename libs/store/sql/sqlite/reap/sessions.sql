-- Removes sign-ins that ended, or whose last refresh token went past its time, long enough ago; their tokens go with them.
-- ?1 most at once, ?2 before when
DELETE FROM auth_sessions
WHERE id IN (SELECT id FROM auth_sessions WHERE ended_at < ?2 OR expires_at < ?2 LIMIT ?1)
