-- Notes a question; asking again changes nothing.
-- ?1 request, ?2 agent, ?3 room, ?4 person, ?5 command, ?6 input, ?7 until when an answer counts
INSERT INTO autocomplete_requests (id, agent_id, room_id, user_id, command, input, deadline)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO NOTHING
