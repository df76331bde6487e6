-- What api, gateway and worker nodes may do in the database: all of it, and nothing beyond.
--
-- Applied as a whole, in one transaction, at the end of every `switchboard migrate` where the three roles exist (`--create-roles` makes them).
-- It is a state, not a history: what is not written here is taken away. Tests hold it against the statements of the store: each role can
-- run those that it uses, and each right is needed by one of them.
--
-- Columns are named where a role may change some of them alone, or not see the others. FOR UPDATE and FOR SHARE want the right to update any column:
-- where a role locks rows that it never changes, the column that is named does no harm. Foreign keys and views need no rights of who uses them.
--
-- Old nodes go on while a new release is rolled out: take a right away a release after the last statement that needed it.

-- Nothing but what follows, on anything that belongs to whoever owns the migrations.
DO $$
DECLARE
    ours record;
BEGIN
    FOR ours IN
        SELECT relation.oid::regclass AS name, relation.relkind = 'S' AS is_sequence
        FROM pg_class AS relation
        JOIN pg_class AS migrations ON migrations.relowner = relation.relowner AND migrations.relnamespace = relation.relnamespace
        WHERE migrations.oid = 'schema_migrations'::regclass AND relation.relkind IN ('r', 'p', 'v', 'm', 'S')
    LOOP
        EXECUTE format(
            'REVOKE ALL ON %s %s FROM switchboard_api, switchboard_gateway, switchboard_worker',
            CASE WHEN ours.is_sequence THEN 'SEQUENCE' ELSE 'TABLE' END, ours.name
        );
    END LOOP;
    EXECUTE format(
        'GRANT USAGE ON SCHEMA %I TO switchboard_api, switchboard_gateway, switchboard_worker',
        (SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = 'schema_migrations'::regclass)
    );
END
$$;

-- People, their sign-ins and devices (0001).

-- Every node looks whether the database has what it needs.
GRANT SELECT ON schema_migrations TO switchboard_api, switchboard_gateway, switchboard_worker;

-- The first node that sees a restored or copied database begins another epoch.
GRANT SELECT, INSERT, UPDATE (log_epoch, system_identifier) ON log_state TO switchboard_api, switchboard_gateway, switchboard_worker;

-- Passwords and what guards them are for api nodes, which sign people in. Nobody changes a role or a handle.
GRANT SELECT, INSERT, UPDATE (password_hash, failed_logins, locked_until, disabled_at) ON users TO switchboard_api;
GRANT SELECT (id, handle, display_name, role, disabled_at) ON users TO switchboard_gateway;
GRANT SELECT (id, role, disabled_at) ON users TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (created_at), DELETE ON devices TO switchboard_api;
GRANT SELECT, UPDATE (created_at) ON devices TO switchboard_gateway;

GRANT SELECT, INSERT, UPDATE (session_id, connection_id, node_id, epoch, taken_at) ON device_slots TO switchboard_api, switchboard_gateway;

-- Workers remove those that are over, and their refresh tokens with them.
GRANT SELECT, INSERT, UPDATE (expires_at, ended_at) ON auth_sessions TO switchboard_api;
GRANT SELECT (id, user_id, ended_at) ON auth_sessions TO switchboard_gateway;
GRANT SELECT (id, expires_at, ended_at), UPDATE (created_at), DELETE ON auth_sessions TO switchboard_worker;

-- Exchanged for access tokens at api nodes alone.
GRANT SELECT, INSERT, UPDATE (used_at) ON refresh_tokens TO switchboard_api;

-- Issued by api nodes, good at gateways.
GRANT SELECT (expires_at), INSERT ON tickets TO switchboard_api;
GRANT SELECT, DELETE ON tickets TO switchboard_gateway;
GRANT SELECT (hash, expires_at), UPDATE (expires_at), DELETE ON tickets TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (full_at) ON rate_buckets TO switchboard_api;
GRANT SELECT, UPDATE (full_at), DELETE ON rate_buckets TO switchboard_worker;

GRANT SELECT, INSERT ON idempotency_keys TO switchboard_api;
GRANT SELECT (user_id, key, created_at), UPDATE (created_at), DELETE ON idempotency_keys TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (role, name, version, seen_at), DELETE ON nodes TO switchboard_api, switchboard_gateway, switchboard_worker;

-- Streams, rooms and events (0002).

-- Only a worker moves the floor: it removes what lies below.
GRANT SELECT, INSERT, UPDATE (head) ON streams TO switchboard_api;
GRANT SELECT, UPDATE (head) ON streams TO switchboard_gateway;
GRANT SELECT, UPDATE (head, floor) ON streams TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (name) ON rooms TO switchboard_api;
GRANT SELECT ON rooms TO switchboard_gateway, switchboard_worker;

GRANT SELECT, INSERT, UPDATE (role, last_read, muted), DELETE ON members TO switchboard_api;
GRANT SELECT, UPDATE (last_read) ON members TO switchboard_gateway;
GRANT SELECT ON members TO switchboard_worker;

-- Nobody changes an event, but an api node takes the text out of one that is deleted; a worker removes what is past its time.
GRANT SELECT, INSERT, UPDATE (data) ON events TO switchboard_api;
GRANT SELECT, INSERT ON events TO switchboard_gateway;
GRANT SELECT, INSERT, DELETE ON events TO switchboard_worker;

GRANT SELECT, INSERT, DELETE ON reactions TO switchboard_api;

-- Agents and their consumers (0003).

GRANT SELECT, INSERT ON handles TO switchboard_api;
GRANT SELECT ON handles TO switchboard_gateway, switchboard_worker;

-- Gateways and api nodes know agents by their tokens.
GRANT SELECT, INSERT, UPDATE (display_name, token_hash, token_id, max_runs, revoked_at) ON agents TO switchboard_api;
GRANT SELECT, UPDATE (created_at) ON agents TO switchboard_gateway;
GRANT SELECT (id, owner_id, max_runs, revoked_at), UPDATE (created_at) ON agents TO switchboard_worker;

GRANT SELECT ON agent_consumer_cursors TO switchboard_api, switchboard_worker;
GRANT SELECT, INSERT, UPDATE (cursor, epoch, holder_session_id, connection_id, node_id, taken_at, live_until) ON agent_consumer_cursors TO
    switchboard_gateway;

GRANT SELECT, INSERT, UPDATE (status, version) ON agent_presence TO switchboard_api, switchboard_gateway, switchboard_worker;

-- Runs, tool calls and completions (0004).

-- What a run is and who asked for it stays as it was made. Documents are written by the gateway that has the consumer.
GRANT SELECT, INSERT, UPDATE (input, status, reason, attempts, holder_session_id, lease_until, offered_at, cancel_requested_at, finished_at)
    ON runs TO switchboard_api;
GRANT SELECT, INSERT, UPDATE (status, reason, error, epoch, attempts, version, doc, doc_version, holder_session_id, lease_until, offered_at,
    started_at, finished_at) ON runs TO switchboard_gateway;
GRANT SELECT, INSERT, UPDATE (status, reason, attempts, doc, doc_version, holder_session_id, lease_until, offered_at, cancel_requested_at,
    finished_at) ON runs TO switchboard_worker;

GRANT SELECT ON run_documents TO switchboard_api, switchboard_gateway, switchboard_worker;

GRANT SELECT ON run_patches TO switchboard_api;
GRANT SELECT, INSERT, DELETE ON run_patches TO switchboard_gateway;
GRANT SELECT (run_id), DELETE ON run_patches TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (status, result, error, resolved_at) ON tool_calls TO switchboard_api, switchboard_gateway;
GRANT SELECT, UPDATE (status, resolved_at) ON tool_calls TO switchboard_worker;

GRANT SELECT (id, choices), INSERT ON autocomplete_requests TO switchboard_api;
GRANT SELECT, INSERT, UPDATE (choices) ON autocomplete_requests TO switchboard_gateway;
GRANT SELECT (id, deadline), UPDATE (deadline), DELETE ON autocomplete_requests TO switchboard_worker;

-- Tasks (0005).

-- A worker reads what to do and the key that it signs webhooks with, not what callers of hooks sign with.
GRANT SELECT, INSERT, UPDATE (name, schedule, timezone, anchor, action, room_id, is_active, cost, max_runtime_ms, retries, misfire, version,
    planned_by, planned_for, hook_hash, hook_signature, hook_key, webhook_key, updated_at, deleted_at) ON tasks TO switchboard_api;
GRANT SELECT (id, name, schedule, timezone, anchor, action, is_active, cost, max_runtime_ms, retries, misfire, version, planned_by,
    planned_for, webhook_key, forgotten_runs, deleted_at), UPDATE (forgotten_runs), DELETE ON tasks TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (node_id, lease_until), DELETE ON task_workers TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (state, turn, cancel_requested_at), DELETE ON task_queue TO switchboard_api;
GRANT SELECT, INSERT, UPDATE (state, turn, epoch, worker_id, due_at, scheduled_for, started_at), DELETE ON task_queue TO switchboard_worker;

-- The line: workers move it.
GRANT SELECT ON SEQUENCE task_turn TO switchboard_api;
GRANT SELECT, UPDATE ON SEQUENCE task_turn TO switchboard_worker;

GRANT SELECT, INSERT ON task_runs TO switchboard_api;
GRANT SELECT (id, task_id, finished_at), INSERT, DELETE ON task_runs TO switchboard_worker;

GRANT SELECT, INSERT ON task_deliveries TO switchboard_api;
GRANT SELECT (task_id, delivery_id, created_at), UPDATE (created_at), DELETE ON task_deliveries TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (enabled, changed_by, changed_at) ON cluster_switches TO switchboard_api;
GRANT SELECT ON cluster_switches TO switchboard_worker;

GRANT SELECT ON task_documents TO switchboard_api;

GRANT SELECT ON task_run_documents TO switchboard_api;

-- Presence (0006).

GRANT SELECT, INSERT, UPDATE (idle, focused_room_id, updated_at, resumable_until), DELETE ON gateway_presence TO switchboard_api,
    switchboard_gateway;
GRANT SELECT, UPDATE (updated_at), DELETE ON gateway_presence TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (since, watched_at) ON presence_epoch TO switchboard_api, switchboard_gateway, switchboard_worker;

GRANT SELECT, INSERT, UPDATE (status, version) ON user_presence TO switchboard_api, switchboard_gateway;
GRANT SELECT, UPDATE (status, version) ON user_presence TO switchboard_worker;

-- Notifications and pushes (0007).

GRANT SELECT, INSERT, UPDATE (read_at, withdrawn_at) ON notifications TO switchboard_api, switchboard_gateway;
GRANT SELECT, INSERT, UPDATE (withdrawn_at, decision, decided_at), DELETE ON notifications TO switchboard_worker;

GRANT SELECT ON notification_facts TO switchboard_api, switchboard_gateway, switchboard_worker;

GRANT INSERT ON notification_queue TO switchboard_api, switchboard_gateway;
GRANT SELECT, INSERT, UPDATE (due_at, push_at, claim), DELETE ON notification_queue TO switchboard_worker;

GRANT SELECT, INSERT ON notification_steps TO switchboard_api, switchboard_gateway;
GRANT INSERT ON notification_steps TO switchboard_worker;

GRANT SELECT, INSERT, UPDATE (preferences) ON notification_preferences TO switchboard_api;
GRANT SELECT ON notification_preferences TO switchboard_worker;

-- Addresses and keys of devices: gateways have nothing to do with them.
GRANT SELECT, INSERT, UPDATE (session_id, driver, address, p256dh, auth, next_at, not_before, claim, test_at, failures, last_at,
    last_result), DELETE ON push_subscriptions TO switchboard_api;
GRANT SELECT, UPDATE (next_at, not_before, claim, claimed_at, test_at, failures, last_at, last_result), DELETE ON push_subscriptions TO
    switchboard_worker;

GRANT SELECT ON push_deliveries TO switchboard_api;
GRANT SELECT, INSERT, UPDATE (attempts), DELETE ON push_deliveries TO switchboard_worker;

-- Signing keys (0009), where they are kept in the database.

-- Api nodes look after them; gateways read them. Without the seal key nobody can sign with what is in there.
GRANT SELECT, UPDATE (revision, written_at) ON signing_manifest TO switchboard_api;
GRANT SELECT (revision) ON signing_manifest TO switchboard_gateway;
GRANT SELECT, INSERT, UPDATE (signs_from, withdrawn, retired_at, token_life), DELETE ON signing_keys TO switchboard_api;
GRANT SELECT ON signing_keys TO switchboard_gateway;
