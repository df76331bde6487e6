-- Rows in every table of the embedded database, with every column filled somewhere and every one that may be null null somewhere.
-- Ids are numbers here: id(n) of the test.

INSERT INTO users (id, handle, display_name, handle_lower, display_name_lower, role, password_hash, failed_logins, locked_until, disabled_at, created_at)
SELECT id(n), 'user' || n, 'Ünï "' || n || '" \u0000 😀
	of two lines', 'user' || n, '', CASE n WHEN 1 THEN 'admin' ELSE 'user' END, '$argon2id$', n - 1,
    CASE n WHEN 2 THEN 1764504000123456 END, CASE n WHEN 3 THEN -1 END, 1764504000000000 + n
FROM numbers WHERE n <= 5;
INSERT INTO devices SELECT id(10 + n), id(n), 'web', 'browser', n FROM numbers WHERE n <= 5;
INSERT INTO device_slots SELECT id(10 + n), id(n), id(20 + n), id(30 + n), id(40), 9007199254740993 + n, n FROM numbers WHERE n <= 3;
INSERT INTO auth_sessions SELECT id(50 + n), id(n), CASE WHEN n > 1 THEN id(10 + n) END, n, 4102444800000000, CASE n WHEN 2 THEN 7 END FROM numbers WHERE n <= 5;
INSERT INTO refresh_tokens SELECT CAST(printf('%032d', n) AS BLOB), id(50 + n), 4102444800000000, CASE n WHEN 2 THEN 7 END FROM numbers WHERE n <= 5;
INSERT INTO refresh_tokens VALUES (x'00ff5c0a0d', id(51), 0, NULL);
INSERT INTO idempotency_keys SELECT id(1), key, 'room', id(60), 5 FROM (SELECT 'a' AS key UNION SELECT 'B' UNION SELECT 'ä' UNION SELECT 'Z z' UNION SELECT '_');
INSERT INTO streams SELECT id(n), 'user', 0, 0 FROM numbers WHERE n <= 5;
INSERT INTO streams VALUES (id(60), 'room', 600, 3), (id(61), 'room', 0, 0), (id(70), 'agent', 1, 0), (id(71), 'agent', 0, 0);
INSERT INTO rooms VALUES (id(60), 'group', 'Lunch', NULL, id(1), 5), (id(61), 'dm', NULL, '1 2', id(2), 5);
INSERT INTO members SELECT id(60), id(n), 'user', CASE n WHEN 1 THEN 'owner' ELSE 'member' END, n, n = 2, n FROM numbers WHERE n <= 3;
INSERT INTO members VALUES (id(60), id(70), 'agent', 'member', 0, 0, 1);
INSERT INTO events (stream_id, seq, id, kind, at, sender_kind, sender_id, nonce, data, trace)
SELECT id(60), 3 + n, id(1000 + n), 'message.created', 1764504000000000 + n, 'user', id(1), CASE WHEN n % 2 THEN 'nonce ' || n END,
    '{"body": "no. ' || n || ' \u00e4 \" \n 😀",  "n":1.50 }', CASE WHEN n % 3 = 0 THEN '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' END
FROM numbers WHERE n <= 597;
INSERT INTO events (stream_id, seq, id, kind, at, sender_kind, data) VALUES (id(70), 1, id(2000), 'run.requested', 9, 'system',
    '{"run_id": "00000000-0000-0000-0000-000000000050"}');
INSERT INTO reactions SELECT id(1001), id(1), emoji FROM (SELECT '👍' AS emoji UNION SELECT 'a' UNION SELECT 'Z' UNION SELECT 'é');
INSERT INTO handles SELECT handle, id FROM users;
INSERT INTO handles VALUES ('helper', id(70)), ('HELPER2', id(71));
INSERT INTO agents VALUES (id(70), id(1), 'helper', 'Helper', x'01', id(72), 3, 5, NULL), (id(71), id(1), 'HELPER2', 'Helper', x'02', id(73), 1, 5, 6);
INSERT INTO agent_consumer_cursors VALUES (id(75), id(70), 'main', 1, 4, id(76), id(77), id(40), 5, 6);
INSERT INTO agent_presence VALUES (id(70), 'busy', 12);
INSERT INTO runs VALUES (id(80), id(60), id(70), 'user', id(1), 'm1', '{"text": "hi"}', id(1001), 0, 'running', 'why', 'what', 2, 1, 9, '{"items":[]}', 7, id(76), 8, 7, 6, 5, 4, 3),
    (id(81), id(60), id(70), 'agent', id(71), NULL, 'null', NULL, 1, 'queued', NULL, NULL, 0, 0, 0, '{"items":[]}', 0, NULL, NULL, NULL, NULL, 5, NULL, NULL);
INSERT INTO run_patches VALUES (id(80), 8, 2, '[]'), (id(80), 9, 2, '[{"op":"add"}]');
INSERT INTO tool_calls VALUES (id(90), id(80), 2, id(60), id(70), id(1), 'n', 'clock', '{}', 'answered', 5, '{"a":1}', 'e', 4, 6),
    (id(91), id(80), 2, id(60), id(70), id(1), NULL, 'clock', '{}', 'pending', 5, NULL, NULL, 4, NULL);
INSERT INTO tasks VALUES (id(100), id(1), 'Tea', '0 9 * * *', 'Europe/Berlin', 5, '{"kind":"message"}', id(60), 1, 1000, 60000, 2, 'once', 3, 2, 8, x'aa', 'github', x'bb', x'cc', 4, 5, 6, 7),
    (id(101), id(1), 'Hook', NULL, 'UTC', 5, '{"kind":"webhook"}', NULL, 0, 1, 1, 0, 'skip', 1, 1, NULL, NULL, NULL, NULL, NULL, 0, 5, 6, NULL);
INSERT INTO task_workers VALUES (id(110), id(40), 99, 98);
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, turn, attempt, epoch, worker_id, due_at, scheduled_for, created_at, started_at, cancel_requested_at, delivery_id, input, trace)
VALUES (id(120), id(100), id(1), id(120), 'waiting', 'schedule', 1000, 0, 1, 0, NULL, 4102444800000000, 4102444800000000, 5, NULL, NULL, NULL, NULL, NULL),
    (id(121), id(101), id(1), id(121), 'running', 'webhook', 1, 17, 2, 3, id(110), 5, 5, 5, 6, 7, 'd', x'00ff', 't'),
    (id(122), id(101), id(1), id(122), 'blocked', 'manual', 1, 18, 1, 0, NULL, 5, 5, 5, NULL, NULL, NULL, NULL, NULL);
UPDATE task_turn SET turn = 17;
INSERT INTO task_runs VALUES (id(130), id(100), id(130), 'succeeded', 'schedule', 1, 1, id(40), 5, 5, 6, 7, 'd', 'e', 'o'),
    (id(131), id(100), id(131), 'cancelled', 'manual', 1, 0, NULL, 5, 5, NULL, 7, NULL, NULL, NULL);
INSERT INTO task_deliveries VALUES (id(101), 'd', id(121), 5), (id(101), 'D', id(122), 5);
INSERT INTO cluster_switches VALUES ('scheduler', 0, id(1), 5), ('Other', 1, NULL, 5);
INSERT INTO user_presence VALUES (id(1), 'online', 44), (id(2), 'offline', 2);
INSERT INTO notifications VALUES (id(140), id(2), 'mention', id(60), 4, id(1001), 'user', id(1), 5, 6, 7, 'push', 8),
    (id(141), id(1), 'tool_call', id(60), 0, id(91), 'system', NULL, 5, NULL, NULL, NULL, NULL);
INSERT INTO notification_queue VALUES (id(140), id(2), 5, 6, id(150)), (id(141), id(1), 5, NULL, NULL);
INSERT INTO notification_steps VALUES (id(140), 5, 'decided', 'idle', id(40), id(12), 'x'), (id(140), 5, 'decided', 'idle', id(40), NULL, 'x'),
    (id(140), 5, 'decided', NULL, NULL, NULL, NULL), (id(140), 5, 'decided', NULL, NULL, NULL, NULL), (id(140), 4, 'sent', 'b', NULL, NULL, NULL),
    (id(140), 4, 'sent', 'A', NULL, NULL, 'é'), (id(140), 4, 'sent', 'A', NULL, NULL, 'z'), (id(141), 4, 'Sent', 'ä', NULL, NULL, NULL);
INSERT INTO notification_preferences VALUES (id(1), '{"push": {"quiet": ["22:00", "07:00"]}}');
INSERT INTO push_subscriptions VALUES (id(11), id(1), id(51), 'web_push', 'https://push.example.com/1', 'p', 'a', 5, 6, 7, id(160), 8, 9, 2, 10, 'gone');
INSERT INTO push_subscriptions (device_id, user_id, session_id, driver, address, created_at) VALUES (id(12), id(2), id(52), 'webhook', 'device 2', 5);
INSERT INTO push_deliveries VALUES (id(12), id(140), id(60), 'mention', 3);
UPDATE signing_manifest SET revision = 6;
INSERT INTO signing_keys VALUES ('key-B', 5, 6, 0, NULL, 600000000, 'api', x'01ff'), ('key-a', 5, 6, 1, 7, 0, 'api', x'02');
-- And in those that are left behind.
INSERT INTO tickets VALUES (x'01', id(1), id(51), 5, 6);
INSERT INTO rate_buckets VALUES ('login', 5);
INSERT INTO nodes VALUES (id(40), 'all', 'desk', '0.1.0', 5, 6);
