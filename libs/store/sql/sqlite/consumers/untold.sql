-- Offered runs of an agent (?1) that a consumer would never hear of: what told of them lies at or before its cursor (?2). Whoever read it
-- did not start them. (The signs keep the look-up of what told of a run at the index for that, off the whole stream.)
SELECT id, room_id, agent_id, requester_kind, requester_id, input
FROM runs
WHERE agent_id = ?1 AND offered_at IS NOT NULL AND status IN ('queued', 'running', 'waiting') AND status = 'queued'
    AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE events.asked_run_id = runs.id AND +events.stream_id = ?1 AND +events.seq > ?2
    )
ORDER BY id
