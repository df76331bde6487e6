-- Which of these ids (?1) are of people and which of agents: each has an inbox of that kind.
SELECT kind, id FROM streams WHERE id IN rarray(?1) AND kind IN ('user', 'agent')
