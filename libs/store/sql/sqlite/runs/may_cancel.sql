-- What somebody is to a run: whether they are its agent or who owns that, and their role in the room, if they are in it.
-- ?1 run, ?2 actor, ?3 what they are
SELECT
    (?3 = 'agent' AND agents.id = ?2 AND agents.revoked_at IS NULL)
        OR (?3 = 'user' AND agents.owner_id = ?2 AND EXISTS (
            SELECT 1 FROM users WHERE users.id = ?2 AND users.disabled_at IS NULL
        )) AS own,
    (
        SELECT members.role
        FROM members
        LEFT JOIN agents AS actor ON actor.id = members.member_id
        JOIN users ON users.id = coalesce(actor.owner_id, members.member_id)
        WHERE members.room_id = runs.room_id AND members.member_id = ?2 AND members.member_kind = ?3
            AND users.disabled_at IS NULL AND actor.revoked_at IS NULL
    ) AS role
FROM runs
JOIN agents ON agents.id = runs.agent_id
WHERE runs.id = ?1
