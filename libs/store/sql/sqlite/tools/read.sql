-- A call (?1).
SELECT id, run_id, room_id, agent_id, user_id, tool, args, status, deadline, result, error FROM tool_calls WHERE id = ?1
