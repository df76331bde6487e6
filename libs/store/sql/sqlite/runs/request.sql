-- What the agent of a run (?1) is told of it.
SELECT id, room_id, agent_id, requester_kind, requester_id, input FROM runs WHERE id = ?1
