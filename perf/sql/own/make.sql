-- Makes tasks that do nothing, of these people in turn. Rows: their ids, in any order.
-- $1 how many, $2 owners
INSERT INTO tasks (
    id, owner_id, name, timezone, anchor, action, is_active, cost, max_runtime_ms, retries, misfire
)
SELECT
    gen_random_uuid(), ($2::uuid[])[1 + number % cardinality($2::uuid[])], 'measured', 'UTC', now(),
    '{"kind": "system", "name": "noop"}', true, 4, 60000, 0, 'skip'
FROM generate_series(1, $1::integer) AS given (number)
RETURNING id
