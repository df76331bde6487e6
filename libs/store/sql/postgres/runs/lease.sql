-- Leases the runs that sessions work on, locked before (runs/lock_held). Tells which of them have lost their newest patch.
-- $1 sessions, $2 how long, in microseconds
UPDATE runs
SET lease_until = now() + $2::bigint * interval '1 microsecond'
WHERE holder_session_id = ANY ($1::uuid[]) AND status IN ('running', 'waiting')
RETURNING
    id,
    version > doc_version AND NOT EXISTS (
        SELECT FROM run_patches WHERE run_patches.run_id = runs.id AND run_patches.version = runs.version
    ) AS emptied
