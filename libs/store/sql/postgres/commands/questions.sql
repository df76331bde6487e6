-- Of these questions those for one of these agents that wait for an answer.
-- $1 requests, $2 agents
SELECT id, agent_id, room_id, user_id, command, input
FROM autocomplete_requests
WHERE id = ANY ($1::uuid[]) AND agent_id = ANY ($2::uuid[]) AND choices IS NULL AND deadline > now()
ORDER BY id
