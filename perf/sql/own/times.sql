-- When runs that are over were started and over, in microseconds since 1970.
-- $1 runs
SELECT
    id, (extract(epoch FROM started_at) * 1000000)::bigint AS started,
    (extract(epoch FROM finished_at) * 1000000)::bigint AS finished
FROM task_runs
WHERE id = ANY($1::uuid[])
