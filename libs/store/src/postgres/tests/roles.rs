//! Each role can run the statements that it uses, and every right is needed by one of them.

use std::collections::BTreeMap;

use testkit::postgres::url_of_role;
use tokio_postgres::error::SqlState;

use super::*;
use crate::postgres::roles::{Right, rights};

/// Which nodes use which statements: those of a subject, and before them those that are used otherwise than the rest of their subject.
/// What only migrations do, or a single process that is its own owner, is nobody's.
const USES: &[(&str, &[DatabaseRole])] = &[
    ("accounts", API),
    ("agents", API),
    ("agents/by_token", FACES),
    ("agents/ended_tokens", GATEWAY),
    ("commands", GATEWAY),
    ("commands/answered", FACES),
    ("commands/ask", FACES),
    ("consumers", GATEWAY),
    ("consumers/lock_agents", ALL),
    ("consumers/presence", ALL),
    ("consumers/presence_around", FACES),
    ("consumers/rooms", ALL),
    ("consumers/settle", ALL),
    ("consumers/vanished", WORKER),
    ("devices", API),
    ("devices/resume", GATEWAY),
    ("devices/slot_device", GATEWAY),
    ("devices/slot_epochs", FACES),
    ("devices/standing", FACES),
    ("devices/take", FACES),
    ("import", NOBODY),
    ("inspect", ALL),
    ("log", FACES),
    ("log/adopt_epoch", ALL),
    ("log/append", ALL),
    ("log/epoch", ALL),
    ("log/event", API),
    ("log/lock", ALL),
    ("log/page_before", API),
    ("messages", API),
    ("messages/append", ALL),
    ("nodes", ALL),
    ("nodes/list", API),
    ("notifications", API),
    ("notifications/create", ALL),
    ("notifications/read_room", FACES),
    ("notifications/trim", WORKER),
    ("notifications/unread", FACES),
    ("notifications/withdraw", ALL),
    ("presence", FACES),
    ("presence/clear", ALL),
    ("presence/doubtful", WORKER),
    ("presence/expired", WORKER),
    ("presence/judge", ALL),
    ("presence/live", WORKER),
    ("presence/lock_free", WORKER),
    ("presence/note", NOBODY),
    ("presence/noted", NOBODY),
    ("presence/watch", ALL),
    ("push", WORKER),
    ("push/hints", FACES),
    ("push/missed_hints", FACES),
    ("push/note_hints", FACES),
    ("push/request_test", API),
    ("push/subscribe", API),
    ("push/subscription", API),
    ("push/unsubscribe", API),
    ("queue", WORKER),
    ("queue/unblock", API_WORKER),
    ("rates", API),
    ("reap", WORKER),
    ("retention", WORKER),
    ("roles", NOBODY),
    ("rooms", API),
    ("rooms/members_by_handle", ALL),
    ("rooms/pair", ALL),
    ("rooms/read", FACES),
    ("rooms/view", FACES),
    ("runs", ALL),
    ("runs/ask_to_stop", API_WORKER),
    ("runs/finish", GATEWAY),
    ("runs/held", GATEWAY),
    ("runs/lease", GATEWAY),
    ("runs/list", API),
    ("runs/lock_agent", GATEWAY),
    ("runs/lock_held", GATEWAY),
    ("runs/may_cancel", API_WORKER),
    ("runs/of_agent", API),
    ("runs/open", FACES),
    ("runs/own", GATEWAY),
    ("runs/patch", GATEWAY),
    ("runs/placed", GATEWAY),
    ("runs/stalled", WORKER),
    ("runs/start", GATEWAY),
    ("runs/transfer", GATEWAY),
    ("runs/updates", FACES),
    ("schema", NOBODY),
    ("schema/applied", ALL),
    ("schema/exists", ALL),
    ("sessions", API),
    ("sessions/ended_since", FACES),
    ("sessions/not_live", FACES),
    ("signing_keys", API),
    ("signing_keys/list", FACES),
    ("tasks", API),
    ("tasks/bury", WORKER),
    ("tasks/trim", WORKER),
    ("tasks/trim_deliveries", WORKER),
    ("tickets/consume", GATEWAY),
    ("tickets/issue", API),
    ("tools", FACES),
    ("tools/cancel", ALL),
    ("tools/expire", WORKER),
    ("tools/go_on", ALL),
    ("tools/overdue", WORKER),
];

const NOBODY: &[DatabaseRole] = &[];
const API: &[DatabaseRole] = &[DatabaseRole::Api];
const GATEWAY: &[DatabaseRole] = &[DatabaseRole::Gateway];
const WORKER: &[DatabaseRole] = &[DatabaseRole::Worker];
/// Nodes that face clients.
const FACES: &[DatabaseRole] = &[DatabaseRole::Api, DatabaseRole::Gateway];
const API_WORKER: &[DatabaseRole] = &[DatabaseRole::Api, DatabaseRole::Worker];
const ALL: &[DatabaseRole] = &DatabaseRole::ALL;

/// The nodes that use a statement.
fn users(statement: &Statement) -> &'static [DatabaseRole] {
    let (subject, _) = statement.name.split_once('/').expect("a subject");
    let of = |name: &str| USES.iter().find(|(known, _)| *known == name).map(|(_, roles)| *roles);
    let listed = of(statement.name).or_else(|| of(subject));
    listed.unwrap_or_else(|| panic!("who uses {}? Say it in USES of {}", statement.name, file!()))
}

/// A database whose server has the roles.
async fn with_roles() -> TestDatabase {
    let database = database().await;
    let settings = DatabaseSettings::with_url(database.url());
    create_roles(&settings).await.expect("roles");
    migrate(&settings).await.expect("rights");
    database
}

/// A superuser's session in which statements are prepared, to be explained as somebody else: that checks all rights and runs nothing.
struct Examiner {
    client: tokio_postgres::Client,
    prepared: BTreeMap<&'static str, (&'static Statement, String)>,
}

impl Examiner {
    async fn of(database: &TestDatabase) -> Self {
        let client = beside(database).await;
        // A plan for the given parameters, which are all null, would leave out what they make impossible.
        client.batch_execute("SET plan_cache_mode = force_generic_plan").await.expect("set");
        let mut prepared = BTreeMap::new();
        for (number, statement) in statement::all().filter(|used| !users(used).is_empty()).enumerate() {
            let parameters = client.prepare(statement.sql).await.expect("prepared").params().len();
            let nulls = vec!["NULL"; parameters].join(", ");
            let call = if nulls.is_empty() { format!("s{number}") } else { format!("s{number} ({nulls})") };
            let prepare = format!("PREPARE s{number} AS {}", statement.sql);
            client
                .batch_execute(&prepare)
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", statement.name));
            prepared.insert(statement.name, (statement, format!("EXPLAIN EXECUTE {call}")));
        }
        Self { client, prepared }
    }

    /// The statements that a role uses.
    fn used_by(&self, role: DatabaseRole) -> impl Iterator<Item = &(&'static Statement, String)> {
        self.prepared.values().filter(move |(statement, _)| users(statement).contains(&role))
    }

    /// Why somebody may not run a statement; within a transaction, which a refusal ends.
    async fn refusal(&self, explain: &str) -> Option<String> {
        let error = self.client.batch_execute(explain).await.err()?;
        let told = error.as_db_error().unwrap_or_else(|| panic!("{explain}: {error}"));
        assert_eq!(*told.code(), SqlState::INSUFFICIENT_PRIVILEGE, "{explain}: {told}");
        Some(told.message().to_owned())
    }

    async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

#[tokio::test]
async fn each_role_can_run_the_statements_that_it_uses() {
    let database = with_roles().await;
    let examiner = Examiner::of(&database).await;
    let mut missing = Vec::new();
    for role in DatabaseRole::ALL {
        examiner.run(&format!("SET ROLE {role}")).await;
        for (statement, explain) in examiner.used_by(role) {
            if let Some(refusal) = examiner.refusal(explain).await {
                missing.push(format!("{role} uses {}: {refusal}", statement.name));
            }
        }
        examiner.run("RESET ROLE").await;
    }
    assert!(missing.is_empty(), "grant it in migrations/grants/postgres.sql:\n{}", missing.join("\n"));
}

#[tokio::test]
async fn every_right_is_needed() {
    let database = with_roles().await;
    let examiner = Examiner::of(&database).await;
    let mut idle = Vec::new();
    for role in DatabaseRole::ALL {
        for right in rights(role) {
            if !is_needed(&examiner, role, right).await {
                idle.push(format!("{role}: {right:?}"));
            }
        }
    }
    assert!(idle.is_empty(), "no statement needs, so take away:\n{}", idle.join("\n"));
}

/// Whether some statement that the role uses is refused without this right.
async fn is_needed(examiner: &Examiner, role: DatabaseRole, right: Right) -> bool {
    let Right { relation, privilege, column } = right;
    let columns = column.map(|column| format!(" ({column})")).unwrap_or_default();
    let revoke =
        format!("BEGIN; REVOKE {privilege}{columns} ON {relation} FROM {role}; SET LOCAL ROLE {role}");
    examiner.run(&revoke).await;
    let mut needed = false;
    for (statement, explain) in
        examiner.used_by(role).filter(|(statement, _)| statement.sql.contains(relation))
    {
        // What a function asks for is seen only when it runs.
        let sets = privilege == "UPDATE" && statement.sql.contains(&format!("setval('{relation}'"));
        needed = sets || examiner.refusal(explain).await.is_some();
        if needed {
            break;
        }
    }
    examiner.run("ROLLBACK").await;
    needed
}

#[tokio::test]
async fn the_user_of_a_role_may_do_what_the_role_does_and_nothing_else() {
    let database = with_roles().await;
    for (role, name) in DatabaseRole::ALL.into_iter().zip(["api", "gateway", "worker"]) {
        let settings = DatabaseSettings::with_url(url_of_role(&database.url(), name).await);
        let found = user_rights(&settings, role).await.expect("an answer");
        let nothing_else = UserRights {
            user: format!("test_{name}"),
            is_superuser: false,
            is_owner: false,
            lacking: Vec::new(),
            exceeding: Vec::new(),
        };
        assert_eq!(found, nothing_else);
        for other in DatabaseRole::ALL.into_iter().filter(|other| *other != role) {
            let found = user_rights(&settings, other).await.expect("an answer");
            assert!(
                !found.lacking.is_empty() && !found.exceeding.is_empty(),
                "{name} for {other}: {found:?}"
            );
        }
        // A node of the role starts, and says so.
        let store = open(&settings).await;
        store.ping().await.expect("an answer");
    }
}

#[tokio::test]
async fn what_would_do_harm_is_refused() {
    let database = with_roles().await;
    let everybody = [
        "SELECT rolpassword FROM pg_authid",
        "COPY users TO PROGRAM 'true'",
        "CREATE TABLE mine ()",
        "CREATE ROLE robin",
        "ALTER TABLE users ADD COLUMN mine int",
        "DROP TABLE events",
        "TRUNCATE events",
        "INSERT INTO schema_migrations VALUES (999, 'mine', '', now())",
        "UPDATE users SET role = 'admin'",
        "UPDATE users SET handle = 'alex'",
        "DELETE FROM users",
        "UPDATE events SET sender_id = NULL",
        "UPDATE runs SET requester_id = agent_id",
    ];
    let own: [(&str, &[&str]); 3] = [
        ("api", &["DELETE FROM events", "DELETE FROM auth_sessions", "SELECT hash FROM tickets"]),
        (
            "gateway",
            &[
                "SELECT password_hash FROM users",
                "SELECT * FROM refresh_tokens",
                "INSERT INTO users SELECT * FROM users",
                "INSERT INTO members SELECT * FROM members",
                "INSERT INTO tickets VALUES ('', gen_random_uuid(), gen_random_uuid(), now())",
                "SELECT address FROM push_subscriptions",
                "SELECT hook_key FROM tasks",
                "DELETE FROM signing_keys",
                "UPDATE signing_manifest SET revision = 1",
            ],
        ),
        (
            "worker",
            &[
                "SELECT password_hash FROM users",
                "SELECT * FROM refresh_tokens",
                "SELECT token_hash FROM agents",
                "SELECT user_id FROM tickets",
                "SELECT hook_key FROM tasks",
                "UPDATE members SET role = 'owner'",
                "SELECT sealed FROM signing_keys",
            ],
        ),
    ];
    for (role, statements) in own {
        let client = session(url_of_role(&database.url(), role).await).await;
        for sql in everybody.iter().chain(statements) {
            let refused = client.batch_execute(sql).await.expect_err(sql);
            assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{role}: {sql}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn migrating_puts_rights_right() {
    let database = with_roles().await;
    let settings = DatabaseSettings::with_url(database.url());
    let user = DatabaseSettings::with_url(url_of_role(&database.url(), "gateway").await);
    let gateway = DatabaseRole::Gateway;
    database
        .query(&format!(
            "GRANT DELETE ON events TO {gateway}; GRANT SELECT (password_hash) ON users TO {gateway};
             GRANT UPDATE ON SEQUENCE task_turn TO {gateway}; REVOKE UPDATE (head) ON streams FROM {gateway};
             REVOKE SELECT ON members FROM {gateway}"
        ))
        .await;
    let found = user_rights(&user, gateway).await.expect("an answer");
    assert_eq!(found.lacking, ["SELECT ON members", "UPDATE (head) ON streams"]);
    assert_eq!(
        found.exceeding,
        ["DELETE ON events", "UPDATE ON task_turn", "SELECT (password_hash) ON users"]
    );
    migrate(&settings).await.expect("rights");
    let found = user_rights(&user, gateway).await.expect("an answer");
    assert_eq!((found.lacking, found.exceeding), (Vec::new(), Vec::new()));
    assert!(has_roles(&settings).await.expect("an answer"));
}

#[tokio::test]
async fn a_statement_that_is_refused_is_told_and_counted() {
    let database = with_roles().await;
    let user = url_of_role(&database.url(), "worker").await;
    let registry = Registry::new();
    let store = Postgres::connect(&one_connection(user), &registry).await.expect("a worker's store");
    let before = backend(&store).await;
    let refused = store.users("alex", None, 1).await.expect_err("for api nodes");
    assert!(matches!(refused, StoreError::Denied(_)), "{refused:?}");
    assert!(refused.to_string().contains("accounts/search: 42501"), "{refused}");
    assert_eq!(refused.public_message(), "a fault of the server");
    let counted = registry
        .gather()
        .into_iter()
        .find(|metric| metric.name() == "switchboard_db_statements_denied_total");
    let counted = counted.expect("a counter").get_metric()[0].get_counter().get_value();
    assert_eq!(counted as u64, 1);
    // The connection is as good as before.
    assert_eq!(backend(&store).await, before);
}
