-- Makes a run that waits for a place (runs/offer), unless there is one of its cause.
-- ?1 id, ?2 room, ?3 agent, ?4 kind of requester, ?5 requester, ?6 cause, ?7 input (JSON text), ?8 length of its chain, ?9 the message that
-- asks for it, or null, ?10 time
INSERT INTO runs
    (id, room_id, agent_id, requester_kind, requester_id, cause, input, hops, message_id, status, reason, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', 'agent_busy', ?10)
ON CONFLICT DO NOTHING
