-- The streams that a change of these runs may write to: of their agents and rooms, of who asked for them, and of everybody whose tool they
-- call.
-- $1 runs
SELECT agent_id AS id FROM runs WHERE id = ANY ($1::uuid[])
UNION
SELECT room_id FROM runs WHERE id = ANY ($1::uuid[])
UNION
SELECT requester_id FROM runs WHERE id = ANY ($1::uuid[]) AND requester_kind = 'user'
UNION
SELECT user_id FROM tool_calls WHERE run_id = ANY ($1::uuid[]) AND status = 'pending'
