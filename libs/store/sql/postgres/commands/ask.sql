-- Notes a question, unless the person or the agent is not in the room. Gives back who is; asking again changes nothing.
-- $1 request, $2 agent, $3 room, $4 person, $5 command, $6 input, $7 time for an answer in microseconds
WITH here AS MATERIALIZED (
    SELECT
        EXISTS (
            SELECT
            FROM members
            JOIN users ON users.id = members.member_id
            WHERE members.room_id = $3 AND members.member_id = $4 AND members.member_kind = 'user'
                AND users.disabled_at IS NULL
        ) AS person,
        EXISTS (
            SELECT
            FROM members
            JOIN agents ON agents.id = members.member_id
            JOIN users ON users.id = agents.owner_id
            WHERE members.room_id = $3 AND members.member_id = $2 AND members.member_kind = 'agent'
                AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
        ) AS agent
),
noted AS (
    INSERT INTO autocomplete_requests (id, agent_id, room_id, user_id, command, input, deadline)
    SELECT $1, $2, $3, $4, $5, $6, now() + $7::bigint * interval '1 microsecond'
    FROM here
    WHERE here.person AND here.agent
    ON CONFLICT (id) DO NOTHING
)
SELECT person, agent FROM here
