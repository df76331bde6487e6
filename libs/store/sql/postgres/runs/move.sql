-- Moves runs from where they stood, under their locks (runs/lock) and those of their agents' streams, and gives back those that are
-- queued again, as their agents are to be told of them. Runs that their holder loses keep their place.
-- $1 runs, $2 their epochs, $3 their statuses before, $4 statuses after, $5 reasons, $6 attempts that do not count
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::integer[])
        AS run (id, epoch, before, after, reason, refund)
),
moved AS (
    UPDATE runs
    SET status = given.after,
        reason = given.reason,
        attempts = greatest(runs.attempts - given.refund, 0),
        holder_session_id = CASE WHEN given.after <> 'queued' THEN runs.holder_session_id END,
        lease_until = NULL,
        offered_at = CASE WHEN given.after = 'queued' THEN now() ELSE runs.offered_at END,
        finished_at = CASE WHEN given.after <> 'queued' THEN now() END
    FROM given
    WHERE runs.id = given.id AND runs.epoch = given.epoch AND runs.status = given.before
    RETURNING
        runs.id, runs.room_id, runs.agent_id, runs.requester_kind, runs.requester_id, runs.input::text AS input,
        runs.status, runs.version
)
SELECT * FROM moved ORDER BY id
