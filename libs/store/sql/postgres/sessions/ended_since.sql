-- Sign-ins ended at or after $1 (all that are kept, when null), and the time to ask from next.
-- That time lies a minute back: an end that is written now may be committed after this statement looked,
-- and no transaction that ends sign-ins lives as long. So ends are told more than once, and never missed.
SELECT clock.next, auth_sessions.id
FROM (SELECT statement_timestamp() - interval '1 minute' AS next) AS clock
LEFT JOIN auth_sessions ON auth_sessions.ended_at >= coalesce($1::timestamptz, '-infinity')
