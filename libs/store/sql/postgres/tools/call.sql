-- Makes a call; no row when its id is in use. The run waits for it (tools/wait).
-- $1 id, $2 run, $3 its epoch, $4 room, $5 agent, $6 person, $7 nonce, $8 tool, $9 arguments (JSON text), $10 time in microseconds
INSERT INTO tool_calls (id, run_id, epoch, room_id, agent_id, user_id, nonce, tool, args, status, deadline)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9::text::json, 'pending',
    clock_timestamp() + $10::bigint * interval '1 microsecond'
)
ON CONFLICT (id) DO NOTHING
RETURNING
    id, run_id, room_id, agent_id, user_id, tool, args::text AS args, status, deadline, result::text AS result, error
