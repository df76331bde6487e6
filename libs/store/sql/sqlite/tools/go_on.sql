-- Lets runs (?1) go on that wait for no call any more.
UPDATE runs
SET status = 'running', reason = NULL
WHERE id IN rarray(?1) AND status = 'waiting' AND NOT EXISTS (
    SELECT 1 FROM tool_calls WHERE tool_calls.run_id = runs.id AND tool_calls.status = 'pending'
)
