-- Answers a question, if nobody has and its time is not over.
-- $1 request, $2 agent, $3 choices
UPDATE autocomplete_requests
SET choices = $3::text::json
WHERE id = $1 AND agent_id = $2 AND choices IS NULL AND deadline > now()
RETURNING true AS counts
