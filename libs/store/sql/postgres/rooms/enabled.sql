-- Of these people those who are there and not disabled.
-- $1 people
SELECT id FROM users WHERE id = ANY ($1::uuid[]) AND disabled_at IS NULL
