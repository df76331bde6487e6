-- What is to be known before a tool is called, under the lock of its run (runs/lock): whether the person is in the room, and the call that
-- this one repeats, by its nonce within the execution or by its id.
-- $1 run, $2 person, $3 nonce, $4 id
SELECT
    EXISTS (
        SELECT
        FROM members
        JOIN users ON users.id = members.member_id
        WHERE members.room_id = runs.room_id AND members.member_id = $2 AND members.member_kind = 'user'
            AND users.disabled_at IS NULL
    ) AS person_in,
    (
        SELECT tool_calls.id
        FROM tool_calls
        WHERE tool_calls.run_id = runs.id AND tool_calls.epoch = runs.epoch AND tool_calls.nonce = $3
        UNION ALL
        SELECT tool_calls.id
        FROM tool_calls
        WHERE tool_calls.id = $4 AND tool_calls.run_id = runs.id
        LIMIT 1
    ) AS known
FROM runs
WHERE runs.id = $1
