-- Queues one job, by the function that both peers have for it. One row.
-- $1 when, in microseconds since 1970
SELECT id FROM graphile_worker.add_job('noop', json_build_object('at', $1::bigint))
