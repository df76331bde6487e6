-- How the agents are noted that are in the rooms of a person (?1).
SELECT agent_presence.agent_id, agent_presence.status, agent_presence.version
FROM agent_presence
WHERE agent_presence.agent_id IN (
    SELECT other.member_id
    FROM members AS own
    JOIN members AS other ON other.room_id = own.room_id AND other.member_kind = 'agent'
    WHERE own.member_id = ?1 AND own.member_kind = 'user'
)
ORDER BY agent_presence.agent_id
