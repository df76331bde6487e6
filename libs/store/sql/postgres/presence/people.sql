-- How people are noted. At version 0 nothing is.
-- $1 people
SELECT user_id, status, version FROM user_presence WHERE user_id = ANY ($1::uuid[]) AND version > 0 ORDER BY user_id
