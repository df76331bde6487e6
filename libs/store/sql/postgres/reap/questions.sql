-- Removes questions to agents whose time was over an hour ago, at most $1.
WITH spent AS MATERIALIZED (
    SELECT id
    FROM autocomplete_requests
    WHERE deadline < now() - interval '1 hour'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM autocomplete_requests USING spent WHERE autocomplete_requests.id = spent.id
RETURNING true
