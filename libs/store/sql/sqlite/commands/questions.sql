-- Of these questions (?1) those for one of these agents (?2) that wait for an answer now (?3).
SELECT id, agent_id, room_id, user_id, command, input
FROM autocomplete_requests
WHERE id IN rarray(?1) AND agent_id IN rarray(?2) AND choices IS NULL AND deadline > ?3
ORDER BY id
