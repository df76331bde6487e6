-- Whether somebody sees a run, and whether they may have it stopped: who asked for it, the agent itself, its owner, owners of
-- the room. No row when there is no such run. Runs under the lock of the room's stream, which who changes members takes.
-- $1 run, $2 actor, $3 what they are
SELECT
    member.role IS NOT NULL OR own.allowed AS sees,
    own.allowed OR (
        member.role IS NOT NULL
        AND (member.role = 'owner' OR (runs.requester_kind = $3 AND runs.requester_id = $2))
    ) AS may
FROM runs
JOIN agents ON agents.id = runs.agent_id
CROSS JOIN LATERAL (
    SELECT
        ($3 = 'agent' AND agents.id = $2 AND agents.revoked_at IS NULL)
        OR ($3 = 'user' AND agents.owner_id = $2 AND EXISTS (
            SELECT FROM users WHERE users.id = $2 AND users.disabled_at IS NULL
        )) AS allowed
) AS own
LEFT JOIN LATERAL (
    SELECT members.role
    FROM members
    LEFT JOIN agents AS actor ON actor.id = members.member_id
    JOIN users ON users.id = coalesce(actor.owner_id, members.member_id)
    WHERE members.room_id = runs.room_id AND members.member_id = $2 AND members.member_kind = $3
        AND users.disabled_at IS NULL AND actor.revoked_at IS NULL
) AS member ON true
WHERE runs.id = $1
