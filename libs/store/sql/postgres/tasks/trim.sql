-- Removes runs that the history need not keep, of the hundred tasks after one: those that are too old, too many, or of a task that was deleted.
-- The time in a run's id is that of its tick, which is never after its end: so the old ones lie in front.
-- $1 after which task (or null), $2 longest age in microseconds (0: all are kept), $3 most of a task (0: all are kept), $4 most rows at once
WITH page AS MATERIALIZED (
    SELECT id, deleted_at FROM tasks WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT 100
),
limits AS MATERIALIZED (
    SELECT
        page.id, page.deleted_at,
        CASE
            WHEN page.deleted_at IS NOT NULL THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
            WHEN $3::bigint > 0 THEN (
                SELECT run.id FROM task_runs AS run WHERE run.task_id = page.id ORDER BY run.id DESC OFFSET $3::bigint LIMIT 1
            )
        END AS too_many,
        CASE
            WHEN $2::bigint > 0 THEN (
                lpad(to_hex(greatest((extract(epoch FROM now()) * 1000000 - $2::bigint) / 1000, 0)::bigint), 12, '0')
                || repeat('0', 20)
            )::uuid
        END AS too_old
    FROM page
),
spent AS MATERIALIZED (
    SELECT run.id
    FROM limits
    CROSS JOIN LATERAL (
        SELECT task_runs.id
        FROM task_runs
        WHERE task_runs.task_id = limits.id AND task_runs.id <= greatest(limits.too_many, limits.too_old)
            AND (
                task_runs.id <= limits.too_many
                OR (task_runs.id < limits.too_old AND extract(epoch FROM now() - task_runs.finished_at) * 1000000 > $2::bigint)
            )
        ORDER BY task_runs.id
        LIMIT $4
    ) AS run
    LIMIT $4
),
gone AS (
    DELETE FROM task_runs USING spent WHERE task_runs.id = spent.id RETURNING task_runs.task_id
),
counted AS (
    UPDATE tasks
    SET forgotten_runs = forgotten_runs + forgotten.runs
    FROM (SELECT task_id, count(*) AS runs FROM gone GROUP BY task_id) AS forgotten
    WHERE tasks.id = forgotten.task_id AND tasks.deleted_at IS NULL
)
SELECT
    (SELECT count(*) FROM gone) AS runs,
    (SELECT max(id::text)::uuid FROM page HAVING count(*) = 100) AS next
