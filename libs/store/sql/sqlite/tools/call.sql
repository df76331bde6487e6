-- Makes a call; no row when its id is in use. The run waits for it (tools/wait).
-- ?1 id, ?2 run, ?3 its epoch, ?4 room, ?5 agent, ?6 person, ?7 nonce, ?8 tool, ?9 arguments (JSON text), ?10 deadline, ?11 time
INSERT INTO tool_calls
    (id, run_id, epoch, room_id, agent_id, user_id, nonce, tool, args, status, deadline, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?11)
ON CONFLICT (id) DO NOTHING
RETURNING id, run_id, room_id, agent_id, user_id, tool, args, status, deadline, result, error
