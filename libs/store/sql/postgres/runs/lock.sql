-- Locks runs in the order of their ids, so that two writers never wait for each other, and gives them as they stand then.
-- A flush comes without the lock of the agent's stream, so what is looked up in patches belongs into a statement after this.
-- $1 runs
SELECT
    id, room_id, agent_id, requester_kind, requester_id, status, reason, epoch, version, attempts, holder_session_id, lease_until, started_at,
    cancel_requested_at, coalesce(offered_at, created_at) AS queued_since, now() AS now
FROM runs
WHERE id = ANY ($1::uuid[])
ORDER BY id
FOR NO KEY UPDATE
