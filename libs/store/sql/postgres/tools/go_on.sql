-- Lets runs go on that wait for no call any more, under their locks (runs/lock).
-- $1 runs
UPDATE runs
SET status = 'running', reason = NULL
WHERE id = ANY ($1::uuid[]) AND status = 'waiting' AND NOT EXISTS (
    SELECT FROM tool_calls WHERE tool_calls.run_id = runs.id AND tool_calls.status = 'pending'
)
