-- Leases the runs that sessions (?1) work on, until ?2.
UPDATE runs SET lease_until = ?2 WHERE holder_session_id IN rarray(?1) AND status IN ('running', 'waiting')
