-- Removes tickets past their time, at most $1. Rows that others hold are left for the next time.
WITH spent AS MATERIALIZED (
    SELECT hash FROM tickets WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED
)
DELETE FROM tickets USING spent WHERE tickets.hash = spent.hash
RETURNING true
