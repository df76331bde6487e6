-- Flushes runs, locked before (runs/lock), in the order given; none of them twice. A row for each:
--   verdict 'follows'   written as the version after its base
--   verdict 'whole'     written as a snapshot alone: what it leads from is not what stands
--   verdict 'repeated'  it stands already: the answer was lost
--   verdict 'emptied'   its base is not what stands: a snapshot is needed
--   verdict 'lost'      the holder is no longer that, or the run is over
-- The arrays pass through "arrays" so that the planner does not see how long they are, and keeps one plan; runs and patches are
-- looked up by an index probe each.
-- $1 runs, $2 sessions, $3 epochs, $4 bases, $5 operations, $6 snapshots, $7 patches to be kept before a snapshot
WITH arrays AS MATERIALIZED (
    SELECT $1::uuid[] AS runs, $2::uuid[] AS sessions, $3::bigint[] AS epochs, $4::bigint[] AS bases,
        $5::text[] AS ops, $6::text[] AS snapshots
),
judged AS MATERIALIZED (
    SELECT
        given.run, given.epoch, given.ops, given.snapshot, given.place,
        held.version AS stands,
        greatest(held.version, given.base) + 1 AS next,
        CASE
            WHEN held.version IS NULL THEN 'lost'
            WHEN held.version = given.base AND (
                given.snapshot IS NOT NULL OR held.doc_version = given.base OR EXISTS (
                    SELECT FROM run_patches WHERE run_id = given.run AND version = given.base
                )
            ) THEN 'follows'
            WHEN held.version = given.base + 1 AND EXISTS (
                SELECT
                FROM run_patches
                WHERE run_id = given.run AND version = held.version AND run_patches.epoch = given.epoch
                    AND run_patches.ops = given.ops
            ) THEN 'repeated'
            WHEN given.snapshot IS NOT NULL THEN 'whole'
            ELSE 'emptied'
        END AS verdict
    FROM arrays
    CROSS JOIN unnest(runs, sessions, epochs, bases, arrays.ops, snapshots)
        WITH ORDINALITY AS given (run, session, epoch, base, ops, snapshot, place)
    LEFT JOIN LATERAL (
        SELECT version, doc_version
        FROM runs
        WHERE runs.id = given.run AND runs.holder_session_id = given.session AND runs.epoch = given.epoch
            AND runs.status IN ('running', 'waiting')
        LIMIT 1
    ) AS held ON true
),
written AS (
    UPDATE runs
    SET version = judged.next,
        doc = coalesce(judged.snapshot, runs.doc),
        doc_version = CASE WHEN judged.snapshot IS NULL THEN runs.doc_version ELSE judged.next END
    FROM judged
    WHERE judged.verdict IN ('follows', 'whole') AND runs.id = judged.run
),
added AS (
    INSERT INTO run_patches (run_id, version, epoch, ops)
    SELECT run, next, epoch, ops FROM judged WHERE verdict = 'follows'
),
gone AS (
    DELETE FROM run_patches
    USING judged
    WHERE judged.verdict IN ('follows', 'whole') AND judged.snapshot IS NOT NULL
        AND run_patches.run_id = judged.run AND run_patches.version < judged.next - $7::bigint
)
SELECT verdict, CASE verdict WHEN 'repeated' THEN stands ELSE next END AS version
FROM judged
ORDER BY place
