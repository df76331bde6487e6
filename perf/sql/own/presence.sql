-- Rows of live connections of these people. One row.
-- $1 people
SELECT count(*) FROM gateway_presence WHERE user_id = ANY ($1::uuid[])
