-- Queues many jobs at once, by the function that both peers have for it. One row: how many.
-- $1 how many
SELECT count(*)
FROM graphile_worker.add_jobs(ARRAY(
    SELECT json_populate_record(
        NULL::graphile_worker.job_spec,
        '{"identifier": "noop", "payload": {}, "max_attempts": 25}'::json
    )
    FROM generate_series(1, $1)
))
