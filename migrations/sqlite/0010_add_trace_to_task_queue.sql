-- The trace (W3C traceparent) of the call that asked for a run, if it is recorded: work on the run goes on with it.
-- Null for ticks.
ALTER TABLE task_queue ADD COLUMN trace TEXT;
