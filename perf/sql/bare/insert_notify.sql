-- Keeps a message and tells everyone who listens, in one commit. One row.
-- $1 body
WITH kept AS (INSERT INTO bare_messages (body) VALUES ($1) RETURNING id)
SELECT pg_notify('bare', $1) FROM kept
