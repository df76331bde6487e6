-- Removes nodes that are silent for more than $2 microseconds, at most $1.
WITH spent AS MATERIALIZED (
    SELECT id
    FROM nodes
    WHERE seen_at < now() - $2::bigint * interval '1 microsecond'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM nodes USING spent WHERE nodes.id = spent.id
RETURNING true
