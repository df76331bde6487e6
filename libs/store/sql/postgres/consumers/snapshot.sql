-- Everything an agent's connection begins with, of one snapshot: a row for each of its rooms, by id, with the agent, the epoch
-- and its stream on each. One row without room when it has none; no row when there is no such agent, or it is revoked or of
-- somebody disabled.
-- $1 agent
SELECT
    log_state.log_epoch,
    agents.id, agents.owner_id, agents.handle, agents.display_name, agents.max_runs,
    agents.revoked_at IS NOT NULL AS revoked, agents.created_at,
    inbox.head AS inbox_head, inbox.floor AS inbox_floor,
    followed.room_id, followed.kind AS room_kind, followed.name, followed.head, followed.floor,
    followed.last_read, followed.muted
FROM agents
JOIN users ON users.id = agents.owner_id
JOIN streams AS inbox ON inbox.id = agents.id
CROSS JOIN log_state
LEFT JOIN LATERAL (
    SELECT
        members.room_id, rooms.kind, rooms.name, streams.head, streams.floor,
        members.last_read, members.muted
    FROM members
    JOIN rooms ON rooms.id = members.room_id
    JOIN streams ON streams.id = members.room_id
    WHERE members.member_id = agents.id AND members.member_kind = 'agent'
) AS followed ON true
WHERE agents.id = $1 AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
ORDER BY followed.room_id
