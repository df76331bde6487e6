-- Sign-ins ended at or after ?1.
SELECT id FROM auth_sessions WHERE ended_at >= ?1
