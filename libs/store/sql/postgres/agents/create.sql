-- Makes an agent with its handle and inbox: $1 id, $2 owner, $3 handle, $4 display name, $5 runs at one time,
-- $6 id and $7 hash of its token, $8 key of the call (or null). The key counts only together with the agent: without a row
-- everything is to be rolled back.
-- No row: the owner is not there or disabled, the key was used, a person or an agent has the handle, or the id is there.
WITH owner AS MATERIALIZED (
    SELECT id FROM users WHERE id = $2 AND disabled_at IS NULL
), claimed AS (
    INSERT INTO idempotency_keys (user_id, key, subject, created_id)
    SELECT id, $8::text, 'agent', $1 FROM owner WHERE $8::text IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING user_id
), reserved AS (
    INSERT INTO handles (handle, owner_id)
    SELECT $3, $1
    FROM owner
    WHERE ($8::text IS NULL OR EXISTS (SELECT FROM claimed))
        AND NOT EXISTS (SELECT FROM agents WHERE agents.id = $1)
    ON CONFLICT DO NOTHING
    RETURNING handle, owner_id
), inbox AS (
    INSERT INTO streams (id, kind) SELECT owner_id, 'agent' FROM reserved
)
INSERT INTO agents (id, owner_id, handle, display_name, max_runs, token_id, token_hash)
SELECT owner_id, $2, handle, $4, $5, $6, $7 FROM reserved
RETURNING id, owner_id, handle, display_name, max_runs, false AS revoked, created_at
