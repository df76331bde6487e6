-- Cancels the calls that are pending for runs (?1), at ?2.
UPDATE tool_calls
SET status = 'cancelled', resolved_at = ?2
WHERE run_id IN rarray(?1) AND status = 'pending'
RETURNING id, run_id, agent_id, user_id
