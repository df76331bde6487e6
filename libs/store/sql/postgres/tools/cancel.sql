-- Cancels the calls that are pending for runs, whose agents' streams are locked.
-- $1 runs
UPDATE tool_calls
SET status = 'cancelled', resolved_at = now()
WHERE run_id = ANY ($1::uuid[]) AND status = 'pending'
RETURNING id, run_id, agent_id, user_id
