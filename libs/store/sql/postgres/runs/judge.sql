-- What is there to be known before runs are made, for each of them in the order given, under the locks of their rooms' and agents' streams
-- (log/lock): whether the requester and the agent are in the room (an agent neither revoked nor of somebody disabled), the length of the
-- chain that it would belong to, and the run that it repeats, by its cause or its id.
-- $1 ids, $2 rooms, $3 agents, $4 kinds of requesters, $5 requesters, $6 causes
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[])
        WITH ORDINALITY AS run (id, room, agent, requester_kind, requester, cause, place)
)
SELECT
    asker.present IS NOT NULL AS requester_in,
    asked.present IS NOT NULL AS agent_in,
    CASE given.requester_kind WHEN 'agent' THEN 1 + greatest(open.hops, recent.hops, 0) ELSE 0 END AS hops,
    known.id AS known,
    coalesce(
        known.room_id = given.room AND known.agent_id = given.agent
            AND known.requester_kind = given.requester_kind AND known.requester_id = given.requester,
        false
    ) AS same
FROM given
LEFT JOIN LATERAL (
    SELECT true AS present
    FROM members
    LEFT JOIN agents ON agents.id = members.member_id
    JOIN users ON users.id = coalesce(agents.owner_id, members.member_id)
    WHERE members.room_id = given.room AND members.member_id = given.requester
        AND members.member_kind = given.requester_kind
        AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
    LIMIT 1
) AS asker ON true
LEFT JOIN LATERAL (
    SELECT true AS present
    FROM members
    JOIN agents ON agents.id = members.member_id
    JOIN users ON users.id = agents.owner_id
    WHERE members.room_id = given.room AND members.member_id = given.agent AND members.member_kind = 'agent'
        AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
    LIMIT 1
) AS asked ON true
LEFT JOIN LATERAL (
    SELECT max(runs.hops) AS hops
    FROM runs
    WHERE runs.room_id = given.room AND runs.agent_id = given.requester
        AND runs.status IN ('queued', 'running', 'waiting')
) AS open ON given.requester_kind = 'agent'
LEFT JOIN LATERAL (
    SELECT max(runs.hops) AS hops
    FROM runs
    WHERE runs.room_id = given.room AND runs.agent_id = given.requester
        AND runs.finished_at > now() - interval '1 minute'
) AS recent ON given.requester_kind = 'agent'
LEFT JOIN LATERAL (
    SELECT id, room_id, agent_id, requester_kind, requester_id
    FROM runs
    WHERE runs.agent_id = given.agent AND runs.requester_id = given.requester AND runs.cause = given.cause
    UNION ALL
    SELECT id, room_id, agent_id, requester_kind, requester_id
    FROM runs
    WHERE runs.id = given.id
    LIMIT 1
) AS known ON true
ORDER BY given.place
