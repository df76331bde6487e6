-- Makes a run wait for its calls, under its lock (runs/lock).
-- $1 run, $2 its epoch
UPDATE runs
SET status = 'waiting', reason = 'tool_call'
WHERE id = $1 AND epoch = $2 AND status IN ('running', 'waiting')
