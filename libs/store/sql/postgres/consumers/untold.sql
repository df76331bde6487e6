-- Offered runs of an agent that a consumer would never hear of: what told of them lies at or before its cursor. Whoever read it did not
-- start them. Runs under the lock of the agent's stream.
-- $1 agent, $2 cursor
SELECT id, room_id, agent_id, requester_kind, requester_id, input::text AS input
FROM runs
WHERE agent_id = $1 AND status = 'queued' AND offered_at IS NOT NULL
    AND id <> ALL (ARRAY(
        SELECT (data ->> 'run_id')::uuid
        FROM events
        WHERE stream_id = $1 AND seq > $2 AND kind = 'run.requested'
    ))
ORDER BY id
FOR NO KEY UPDATE
