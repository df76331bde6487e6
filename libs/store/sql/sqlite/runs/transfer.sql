-- Gives the runs that one session works on to another one. Their leases last at least so long.
-- ?1 session before, ?2 session after, ?3 until when
UPDATE runs
SET holder_session_id = ?2, lease_until = max(coalesce(lease_until, ?3), ?3)
WHERE holder_session_id = ?1 AND status IN ('running', 'waiting')
RETURNING id
