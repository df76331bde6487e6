-- Makes a run (?1) wait for its calls.
UPDATE runs SET status = 'waiting', reason = 'tool_call' WHERE id = ?1 AND status IN ('running', 'waiting')
