-- Lets one at a time settle how an agent is seen: what is looked at after this lock is newer than what the one before wrote.
-- NO KEY: a row that refers to an agent can be written meanwhile.
-- $1 agents
SELECT id FROM agents WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
