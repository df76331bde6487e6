-- Whether a task may be made or become so: its owner is there, is in the room, and the agent is too. One row.
-- ?1 owner, ?2 room (or null), ?3 agent (or null)
SELECT
    EXISTS (SELECT 1 FROM users WHERE id = ?1 AND disabled_at IS NULL) AS may,
    ?2 IS NULL OR EXISTS (
        SELECT 1 FROM members WHERE room_id = ?2 AND member_id = ?1 AND member_kind = 'user'
    ) AS room_in,
    ?3 IS NULL OR EXISTS (
        SELECT 1
        FROM members
        JOIN agents ON agents.id = members.member_id
        WHERE members.room_id = ?2 AND members.member_id = ?3 AND members.member_kind = 'agent' AND agents.revoked_at IS NULL
    ) AS agent_in
