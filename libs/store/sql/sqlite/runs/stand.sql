-- Runs (?1) as they stand, by id.
SELECT
    id, room_id, agent_id, requester_kind, requester_id, status, reason, epoch, version, attempts, holder_session_id, lease_until, started_at,
    cancel_requested_at, coalesce(offered_at, created_at) AS queued_since
FROM runs
WHERE id IN rarray(?1)
ORDER BY id
