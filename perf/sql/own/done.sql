-- Runs that were queued since and are over well, and the microseconds from the first claim to the last end. One row.
-- $1 since when, as text
SELECT count(*), coalesce(extract(epoch FROM max(finished_at) - min(started_at)) * 1000000, 0)::bigint
FROM task_runs
WHERE status = 'succeeded' AND created_at >= $1::text::timestamptz
