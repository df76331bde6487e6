-- Queues a run of each of these tasks, as asked for one after the other by their owners: ready, each at its owner's place in line. Ids begin with the time, as
-- those of the product do.
-- $1 tasks
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, turn, due_at, scheduled_for)
SELECT run.id, run.task_id, run.owner_id, run.id, 'ready', 'manual', run.cost, line.turn + run.cost * run.place, now(), now()
FROM (
    SELECT
        encode(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
            ),
            'hex'
        )::uuid AS id,
        tasks.id AS task_id, tasks.owner_id, tasks.cost,
        row_number() OVER (PARTITION BY tasks.owner_id ORDER BY given.number) AS place
    FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, number)
    JOIN tasks ON tasks.id = given.id
    ORDER BY given.number
) AS run
CROSS JOIN (
    SELECT greatest(last_value, (SELECT max(turn) FROM task_queue WHERE state = 'ready')) AS turn FROM task_turn
) AS line
ON CONFLICT DO NOTHING
