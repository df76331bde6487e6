//! Plans of statements.

use std::path::Path;

use super::log::beside;
use super::log::world;

/// Whatever the tables hold, what runs all the time looks rows up by index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hot_statements_use_indexes() {
    let (world, database) = world().await;
    let [alex, sam] = world.people().await;
    world.group(&[alex, sam]).await;
    let client = beside(&database).await;
    client.batch_execute(FILL).await.expect("filled");
    client.batch_execute("SET plan_cache_mode = force_generic_plan").await.expect("set");
    let statements = [
        "agents/agent",
        "agents/by_token",
        "agents/ended_tokens",
        "agents/judge",
        "agents/principals",
        "commands/answer",
        "commands/answered",
        "commands/ask",
        "commands/questions",
        "consumers/ack",
        "consumers/agent",
        "consumers/epochs",
        "consumers/held",
        "consumers/holds",
        "consumers/keep",
        "consumers/lock_agents",
        "consumers/presence_around",
        "consumers/release",
        "consumers/rooms",
        "consumers/settle",
        "consumers/snapshot",
        "consumers/stand",
        "consumers/stay",
        "consumers/take",
        "consumers/untold",
        "log/append",
        "log/event",
        "log/heads",
        "log/lock",
        "log/page_after",
        "log/page_before",
        "log/since",
        "log/snapshot",
        "messages/append",
        "messages/erase",
        "messages/erase_asked",
        "messages/lock_asked",
        "messages/judge",
        "messages/react",
        "messages/unreact",
        "notifications/create",
        "notifications/find",
        "notifications/list",
        "notifications/preferences",
        "notifications/read",
        "notifications/read_room",
        "notifications/steps",
        "notifications/trim",
        "notifications/unread",
        "notifications/withdraw",
        "presence/around",
        "presence/clear",
        "presence/ensure",
        "presence/judge",
        "presence/live",
        "presence/lock",
        "presence/lock_free",
        "presence/note",
        "presence/people",
        "presence/refresh",
        "presence/rooms",
        "presence/write",
        "push/claim_devices",
        "push/claim_undecided",
        "push/claimed",
        "push/decide",
        "push/drop_devices",
        "push/finish",
        "push/hints",
        "push/lock_devices",
        "push/missed_hints",
        "push/next_push",
        "push/next_undecided",
        "push/note_hints",
        "push/release",
        "push/request_test",
        "push/settle_devices",
        "push/subscribe",
        "push/subscription",
        "push/unsubscribe",
        "push/waiting",
        "retention/candidates",
        "retention/lock",
        "retention/trim",
        "rooms/actor",
        "rooms/enabled",
        "rooms/leaver",
        "rooms/list",
        "rooms/members_by_handle",
        "rooms/mute",
        "rooms/newcomers",
        "rooms/read",
        "rooms/view",
        "runs/ask_to_stop",
        "runs/create",
        "runs/finish",
        "runs/held",
        "runs/judge",
        "runs/lease",
        "runs/list",
        "runs/lock",
        "runs/lock_agent",
        "runs/lock_held",
        "runs/may_cancel",
        "runs/move",
        "runs/of_agent",
        "runs/offer",
        "runs/open",
        "runs/own",
        "runs/placed",
        "runs/placed",
        "runs/patch",
        "runs/read",
        "runs/stalled",
        "runs/start",
        "runs/streams",
        "runs/transfer",
        "runs/updates",
        "runs/view",
        "tools/call",
        "tools/cancel",
        "tools/expire",
        "tools/go_on",
        "tools/judge",
        "tools/overdue",
        "tools/pending",
        "tools/read",
        "tools/resolve",
        "tools/wait",
    ];
    for (number, name) in statements.into_iter().enumerate() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("sql/postgres/{name}.sql"));
        let sql = std::fs::read_to_string(file).expect("a statement");
        let parameters: Vec<_> =
            (1..=12).filter(|n| sql.contains(&format!("${n}"))).map(|_| "NULL").collect();
        let given =
            if parameters.is_empty() { String::new() } else { format!("({})", parameters.join(", ")) };
        let execute = format!("s{number}{given}");
        client.batch_execute(&format!("PREPARE s{number} AS {sql}")).await.expect(name);
        let plan = client.query(&format!("EXPLAIN EXECUTE {execute}"), &[]).await.expect(name);
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        for table in TABLES {
            let scanned = plan.iter().any(|line| line.contains(&format!("Seq Scan on {table} ")));
            assert!(!scanned, "{name} reads all {table}:\n{}", plan.join("\n"));
        }
    }
}

const TABLES: [&str; 22] = [
    "events",
    "streams",
    "members",
    "users",
    "agents",
    "handles",
    "rooms",
    "reactions",
    "agent_consumer_cursors",
    "autocomplete_requests",
    "runs",
    "run_patches",
    "tool_calls",
    "gateway_presence",
    "user_presence",
    "device_slots",
    "notifications",
    "notification_queue",
    "notification_steps",
    "notification_preferences",
    "push_subscriptions",
    "push_deliveries",
];

/// Some thousands of people and agents, some rooms of each, and runs of which a few are worked on.
const FILL: &str = "
INSERT INTO users (id, handle, display_name, role, password_hash)
SELECT gen_random_uuid(), 'filled' || n, 'Somebody', 'user', '' FROM generate_series(1, 3000) AS n;
INSERT INTO streams (id, kind) SELECT id, 'user' FROM users WHERE handle LIKE 'filled%';
INSERT INTO streams (id, kind) SELECT gen_random_uuid(), 'agent' FROM generate_series(1, 3000);
INSERT INTO agents (id, owner_id, handle, display_name, token_hash, token_id, max_runs)
SELECT id, (SELECT id FROM users LIMIT 1), 'bot' || id, 'Some agent', sha256(id::text::bytea), gen_random_uuid(), 4
FROM streams WHERE kind = 'agent';
INSERT INTO handles (handle, owner_id)
SELECT handle, id FROM users WHERE handle LIKE 'filled%' UNION ALL SELECT handle, id FROM agents;
INSERT INTO streams (id, kind, head) SELECT gen_random_uuid(), 'room', 20 FROM generate_series(1, 3000);
INSERT INTO rooms (id, kind, name, created_by)
SELECT streams.id, 'group', 'Filled', (SELECT id FROM users LIMIT 1)
FROM streams WHERE kind = 'room' AND head = 20;
INSERT INTO members (room_id, member_id, role)
SELECT room.id, person.id, 'member'
FROM (SELECT id, row_number() OVER () AS n FROM rooms) AS room
JOIN (SELECT id, row_number() OVER () AS n FROM users) AS person ON (person.n - room.n) % 500 = 0
ON CONFLICT DO NOTHING;
INSERT INTO members (room_id, member_id, member_kind, role)
SELECT room.id, agent.id, 'agent', 'member'
FROM (SELECT id, row_number() OVER () AS n FROM rooms) AS room
JOIN (SELECT id, row_number() OVER () AS n FROM agents) AS agent ON (agent.n - room.n) % 500 = 0;
INSERT INTO events (stream_id, seq, id, kind, sender_kind, sender_id, nonce, data)
SELECT rooms.id, n, gen_random_uuid(), 'message.created', 'user', rooms.created_by, n::text, '{\"body\": \"hello\"}'
FROM rooms, generate_series(1, 20) AS n WHERE rooms.name = 'Filled';
INSERT INTO reactions SELECT id, sender_id, '!' FROM events WHERE seq < 5 AND kind = 'message.created';
INSERT INTO agent_consumer_cursors
    (id, agent_id, name, cursor, epoch, holder_session_id, connection_id, node_id, live_until)
SELECT gen_random_uuid(), id, 'main', 0, 1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now()
FROM agents;
INSERT INTO runs (id, room_id, agent_id, requester_kind, requester_id, input, hops, status, finished_at)
SELECT gen_random_uuid(), members.room_id, members.member_id, 'user', gen_random_uuid(), '{}', 0, 'succeeded', now()
FROM members WHERE members.member_kind = 'agent';
UPDATE runs SET status = 'running', finished_at = NULL, offered_at = now(), started_at = now(), lease_until = now(),
    holder_session_id = gen_random_uuid()
WHERE id IN (SELECT id FROM runs LIMIT 1000);
UPDATE runs SET status = 'queued', finished_at = NULL WHERE id IN (SELECT id FROM runs WHERE status <> 'running' LIMIT 1000);
INSERT INTO run_patches SELECT id, n, 1, '[]' FROM runs, generate_series(1, 5) AS n;
INSERT INTO tool_calls (id, run_id, epoch, room_id, agent_id, user_id, tool, args, status, deadline)
SELECT gen_random_uuid(), runs.id, 1, room_id, agent_id, users.id, 'locate', '{}',
    CASE n WHEN 1 THEN 'pending' ELSE 'answered' END, now()
FROM runs, generate_series(1, 3) AS n, (SELECT id FROM users LIMIT 1) AS users;
INSERT INTO devices (id, user_id, kind, name) SELECT gen_random_uuid(), id, 'web', 'Browser' FROM users;
INSERT INTO device_slots (device_id, user_id, session_id, connection_id, node_id, epoch)
SELECT id, user_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1 FROM devices;
INSERT INTO gateway_presence
    (connection_id, node_id, user_id, device_id, epoch, device_kind, idle, connected_at, updated_at)
SELECT connection_id, node_id, user_id, device_id, 1, 'web', false, now(), now() FROM device_slots;
INSERT INTO user_presence (user_id, status, version) SELECT id, 'online', 1 FROM users;
INSERT INTO autocomplete_requests
SELECT gen_random_uuid(), agent_id, room_id, requester_id, 'deploy', '', now() FROM runs;
INSERT INTO notifications (id, user_id, kind, room_id, seq, source_id, sender_kind, sender_id, read_at, decision, decided_at)
SELECT gen_random_uuid(), members.member_id, 'mention', events.stream_id, events.seq, events.id, 'user', events.sender_id,
    CASE WHEN events.seq < 15 THEN now() END, CASE WHEN events.seq % 3 = 0 THEN 'gateway' ELSE 'push_idle' END, now()
FROM events
CROSS JOIN LATERAL (
    SELECT member_id FROM members WHERE room_id = events.stream_id AND member_kind = 'user' OFFSET events.seq % 3 LIMIT 1
) AS members
WHERE events.kind = 'message.created';
INSERT INTO notification_queue (notification_id, user_id, push_at) SELECT id, user_id, now() FROM notifications WHERE seq > 10;
INSERT INTO notification_steps (notification_id, step, device_id)
SELECT id, CASE WHEN seq % 2 = 0 THEN 'hinted' ELSE 'decided' END, user_id FROM notifications;
INSERT INTO notification_preferences SELECT id, '{}' FROM users;
INSERT INTO push_subscriptions (device_id, user_id, session_id, driver, address) SELECT id, user_id, id, 'webhook', id::text FROM devices;
INSERT INTO push_deliveries (device_id, notification_id, room_id, reason)
SELECT device_id, notifications.id, room_id, 'push_idle' FROM push_subscriptions JOIN notifications USING (user_id) WHERE seq > 10;
ANALYZE";
