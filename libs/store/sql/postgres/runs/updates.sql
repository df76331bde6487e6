-- What is not known of runs: for one of which a version is known, and all patches after it are there, these patches; for others (version
-- 0: nothing is known) the snapshot, and the patches that follow on it without a hole.
-- The arrays pass through "arrays" so that the planner does not see how long they are, and keeps one plan.
-- $1 runs, $2 epochs that are known, $3 versions that are known
WITH arrays AS MATERIALIZED (
    SELECT $1::uuid[] AS runs, $2::bigint[] AS epochs, $3::bigint[] AS versions
)
SELECT
    run.id, run.room_id, run.agent_id, run.epoch, run.version, run.status, run.reason, run.cancel_requested, run.agent_live,
    CASE WHEN NOT begins.follows THEN run.doc END AS doc,
    begins.version AS begins, tail.versions, tail.ops
FROM arrays
CROSS JOIN unnest(arrays.runs, epochs, arrays.versions) WITH ORDINALITY AS known (run, epoch, version, place)
CROSS JOIN LATERAL (
    SELECT
        id, room_id, agent_id, epoch, runs.version, status, reason, doc, doc_version,
        cancel_requested_at IS NOT NULL AS cancel_requested,
        EXISTS (
            SELECT
            FROM agent_consumer_cursors AS consumer
            WHERE consumer.agent_id = runs.agent_id AND consumer.live_until > now()
        ) AS agent_live
    FROM runs
    WHERE runs.id = known.run
    LIMIT 1
) AS run
CROSS JOIN LATERAL (
    SELECT
        known.version > 0 AND run.epoch = known.epoch AND run.version - known.version = count(*) AS follows,
        CASE
            WHEN known.version > 0 AND run.epoch = known.epoch AND run.version - known.version = count(*) THEN known.version
            ELSE run.doc_version
        END AS version
    FROM run_patches
    WHERE run_id = run.id AND run_patches.version > known.version
) AS begins
CROSS JOIN LATERAL (
    SELECT
        coalesce(array_agg(patch.version ORDER BY patch.version), '{}') AS versions,
        coalesce(array_agg(patch.ops ORDER BY patch.version), '{}') AS ops
    FROM (
        SELECT run_patches.version, run_patches.ops, row_number() OVER (ORDER BY run_patches.version) AS nth
        FROM run_patches
        WHERE run_patches.run_id = run.id AND run_patches.version > begins.version
    ) AS patch
    WHERE patch.version = begins.version + patch.nth
) AS tail
ORDER BY known.place
