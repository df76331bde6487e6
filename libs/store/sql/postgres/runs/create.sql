-- Makes runs that wait for a place (runs/offer), in the order given; gives back those that were made: of two with one cause the first.
-- $1 ids, $2 rooms, $3 agents, $4 kinds of requesters, $5 requesters, $6 causes, $7 inputs (JSON text), $8 lengths of their chains,
-- $9 the message that asks for them, or null
INSERT INTO runs (id, room_id, agent_id, requester_kind, requester_id, cause, input, hops, message_id, status, reason)
SELECT id, room, agent, requester_kind, requester, cause, input::json, hops, $9, 'queued', 'agent_busy'
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::integer[])
    WITH ORDINALITY AS run (id, room, agent, requester_kind, requester, cause, input, hops, place)
ORDER BY place
ON CONFLICT DO NOTHING
RETURNING id
