//! What only this module can see: statements, sessions, transactions.

use std::time::Instant;

use domain::{EventKind, UserId};
use futures_util::FutureExt;
use futures_util::future::join;
use prometheus::Registry;
use serde_json::json;
use testkit::postgres::TestDatabase;
use testkit::proxy::Proxy;

mod roles;
mod waiting;

use super::append::{APPEND, Append, Draft, LOCK};
use super::*;
use crate::accounts::{Accounts, NewUser};
use crate::nodes::Nodes;
use crate::rates::{Bucket, RateDecision, Rates};
use crate::{Refusal, Sessions};

const BUCKET: Bucket = Bucket { rate: 1.0, burst: 5 };

async fn database() -> TestDatabase {
    let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
    TestDatabase::from_template(&schema_digest(), migrated).await
}

/// A pool of one connection, so that whatever one call leaves behind the next one meets.
fn one_connection(url: String) -> DatabaseSettings {
    DatabaseSettings { pool_size: 1, ..DatabaseSettings::with_url(url) }
}

async fn open(settings: &DatabaseSettings) -> Postgres {
    Postgres::connect(settings, &Registry::new()).await.expect("the database answers")
}

async fn store(database: &TestDatabase) -> Postgres {
    open(&one_connection(database.url())).await
}

async fn person(store: &Postgres, handle: &str) -> UserId {
    let user = NewUser {
        id: UserId::new(),
        handle: handle.into(),
        display_name: handle.into(),
        role: domain::Role::User,
        password_hash: "$argon2id$".into(),
    };
    store.create_user(&user).await.expect("a person").id
}

/// The server process behind the pool's only connection.
async fn backend(store: &Postgres) -> i32 {
    let session = store.session().await.expect("a session");
    let row = session.client().expect("a client").query_one("SELECT pg_backend_pid()", &[]).await;
    row.expect("an answer").get(0)
}

/// A client beside the pool; its connection is driven until the test ends.
async fn beside(database: &TestDatabase) -> tokio_postgres::Client {
    session(database.url()).await
}

async fn session(url: String) -> tokio_postgres::Client {
    let settings = DatabaseSettings::with_url(url);
    let (client, connection) = connect(&settings, "beside").await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Sessions of the pool of which `condition` is true.
async fn pool_sessions(database: &TestDatabase, condition: &str) -> usize {
    let sql = format!(
        "SELECT 1 FROM pg_stat_activity
         WHERE datname = '{}' AND application_name = 'switchboard/store' AND {condition}",
        database.name()
    );
    database.query(&sql).await.len()
}

/// Looks again and again: nothing tells us what another session does.
async fn until_pool_sessions(database: &TestDatabase, condition: &str, expected: usize) {
    let deadline = Instant::now() + Duration::from_secs(4);
    while pool_sessions(database, condition).await != expected {
        assert!(Instant::now() < deadline, "never {expected} sessions where {condition}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn message(stream: UserId) -> Draft {
    Draft::of_system(stream, EventKind::SessionRevoked, &json!({}))
}

#[tokio::test]
async fn every_statement_prepares_on_a_fresh_schema() {
    let database = database().await;
    let store = store(&database).await;
    let session = store.session().await.expect("a session");
    // The table of an import is made by it.
    let made = statement::all().find(|statement| statement.name == "import/create").expect("a statement");
    database.query(made.sql).await;
    database.query("CREATE TABLE import_ended (LIKE import_progress)").await;
    for statement in statement::all() {
        if let Err(error) = session.client().expect("a client").prepare(statement.sql).await {
            panic!("{}: {:?}", statement.name, error.as_db_error());
        }
    }
}

#[tokio::test]
async fn sessions_start_with_our_settings() {
    let database = database().await;
    let settings = DatabaseSettings {
        statement_timeout: Duration::from_millis(1500),
        ..one_connection(format!("{}&options=-c%20work_mem%3D8MB", with_query(&database.url())))
    };
    let store = open(&settings).await;
    let session = store.session().await.expect("a session");
    let client = session.client().expect("a client");
    client.batch_execute("RESET ALL").await.expect("reset");
    for (name, value) in [
        ("statement_timeout", "1500ms"),
        ("lock_timeout", "750ms"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("default_transaction_isolation", "read committed"),
        ("work_mem", "8MB"),
    ] {
        let shown: String = client.query_one(&format!("SHOW {name}"), &[]).await.expect("a setting").get(0);
        assert_eq!(shown, value, "{name}");
    }
}

fn with_query(url: &str) -> String {
    if url.contains('?') { url.to_owned() } else { format!("{url}?sslmode=prefer") }
}

#[tokio::test]
async fn a_failed_transaction_did_nothing_and_leaves_nothing() {
    let database = database().await;
    let store = store(&database).await;
    let alex = person(&store, "alex").await;
    let before = backend(&store).await;

    // The second append is for a stream that is not there.
    let (good, bad) = ([message(alex)], [message(UserId::new())]);
    let (good, bad) = (Append::new(&good), Append::new(&bad));
    let session = store.session().await.expect("a session");
    let failed = session.transact([(APPEND, &good.params()), (APPEND, &bad.params())]).await;
    assert!(matches!(failed, Err(Fault::Failed(StoreError::Internal(_)))), "{failed:?}");
    assert!(!session.is_in_transaction());

    let (transaction, [_]) = session.begin([(APPEND, &good.params())]).await.expect("begun");
    let failed = transaction.run([(APPEND, &bad.params())]).await;
    assert!(failed.is_err());
    assert!(!session.is_in_transaction(), "rolled back at once: its locks are free");
    let late = transaction.commit([(APPEND, &good.params())]).await;
    assert!(late.is_err(), "nothing is committed after a failure");
    drop(session);

    assert_eq!(backend(&store).await, before, "the connection was fit for use");
    assert_eq!(database.query("SELECT 1 FROM events").await.len(), 0);
    assert_eq!(database.query("SELECT 1 FROM streams WHERE head > 0").await.len(), 0);
}

#[tokio::test]
async fn a_dropped_transaction_is_rolled_back() {
    let database = database().await;
    let store = store(&database).await;
    let alex = person(&store, "alex").await;
    let before = backend(&store).await;
    let drafts = [message(alex)];
    let append = Append::new(&drafts);
    let session = store.session().await.expect("a session");
    let (transaction, [rows]) = session.begin([(APPEND, &append.params())]).await.expect("begun");
    assert_eq!(append.events(&rows).expect("an event")[0].seq, 1);
    let _ = transaction;
    drop(session);
    assert_eq!(backend(&store).await, before, "nothing is left on that connection");
    // The lock on the stream went with it.
    let session = store.session().await.expect("a session");
    let [rows] = session.transact([(APPEND, &append.params())]).await.expect("appended");
    assert_eq!(append.events(&rows).expect("an event")[0].seq, 1);
}

#[tokio::test]
async fn a_transaction_is_one_round_trip() {
    let database = database().await;
    let proxy = Proxy::start(address(&database.url()));
    let store = open(&one_connection(proxy.url(&database.url()))).await;
    let alex = person(&store, "alex").await;
    let drafts = [message(alex)];
    let append = Append::new(&drafts);
    let streams = vec![alex.0];
    let session = store.session().await.expect("a session");
    session
        .transact([(LOCK, &[&streams]), (APPEND, &Append::new(&[message(alex)]).params())])
        .await
        .expect("warm");

    let latency = Duration::from_millis(150);
    proxy.latency(latency);
    let began = Instant::now();
    let [locked, rows] =
        session.transact([(LOCK, &[&streams]), (APPEND, &append.params())]).await.expect("appended");
    let took = began.elapsed();
    assert_eq!((locked.len(), append.events(&rows).expect("an event")[0].seq), (1, 2));
    assert!(took >= latency, "the latency was not there: {took:?}");
    assert!(took < 4 * latency, "more than one round trip: {took:?}");
}

fn address(url: &str) -> std::net::SocketAddr {
    let config: tokio_postgres::Config = url.parse().expect("a URL");
    let tokio_postgres::config::Host::Tcp(host) = &config.get_hosts()[0] else { panic!("no TCP") };
    std::net::SocketAddr::new(host.parse().expect("an address"), config.get_ports()[0])
}

#[tokio::test]
async fn an_abandoned_statement_is_cancelled_and_its_connection_closed() {
    let database = database().await;
    let registry = Registry::new();
    let settings = one_connection(database.url());
    let store = Postgres::connect(&settings, &registry).await.expect("the database answers");
    assert_eq!(store.take_token("key", BUCKET).await.expect("an answer"), RateDecision::Allowed);
    let before = backend(&store).await;

    let blocker = beside(&database).await;
    blocker.batch_execute("BEGIN; SELECT 1 FROM rate_buckets FOR UPDATE").await.expect("locked");
    let call = {
        let store = store.clone();
        tokio::spawn(async move { store.take_token("key", BUCKET).await })
    };
    until_pool_sessions(&database, "wait_event_type = 'Lock'", 1).await;
    call.abort();
    // It ends although the lock stays and the time for it is not over.
    until_pool_sessions(&database, &format!("pid = {before}"), 0).await;

    store.ping().await.expect("the pool opens another");
    assert_ne!(backend(&store).await, before);
    let abandoned = registry.gather().into_iter().find(|family| family.name().ends_with("abandoned_total"));
    assert_eq!(abandoned.expect("a metric").get_metric()[0].get_counter().get_value() as u64, 1);
}

/// Clients go away by the thousand at once: a connection each would be what the database has no time for.
#[tokio::test]
async fn an_abandoned_statement_that_ends_at_once_keeps_its_connection() {
    let database = database().await;
    let store = store(&database).await;
    let alex = person(&store, "alex").await;
    let drafts = [message(alex)];
    let append = Append::new(&drafts);
    let session = store.session().await.expect("a session");
    session.transact([(APPEND, &append.params())]).await.expect("prepared");
    drop(session);
    let mut backends = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let session = store.session().await.expect("a session");
        let sent = session.transact([(APPEND, &append.params())]).now_or_never();
        assert!(sent.is_none(), "no server answers so fast");
        drop(session);
        backends.insert(backend(&store).await);
    }
    // On a busy machine one or the other may have taken too long.
    assert!(backends.len() < 10, "{backends:?}");
}

#[tokio::test]
async fn a_slow_statement_is_a_timeout_and_the_connection_stays() {
    let database = database().await;
    let settings =
        DatabaseSettings { statement_timeout: Duration::from_millis(200), ..one_connection(database.url()) };
    let store = open(&settings).await;
    assert_eq!(store.take_token("key", BUCKET).await.expect("an answer"), RateDecision::Allowed);
    let before = backend(&store).await;
    let blocker = beside(&database).await;
    blocker.batch_execute("BEGIN; SELECT 1 FROM rate_buckets FOR UPDATE").await.expect("locked");
    let late = store.take_token("key", BUCKET).await;
    assert!(matches!(late, Err(StoreError::Timeout(_))), "{late:?}");
    assert_eq!(backend(&store).await, before);
}

#[tokio::test]
async fn a_call_waits_so_long_for_a_connection() {
    let database = database().await;
    let settings =
        DatabaseSettings { pool_wait: Duration::from_millis(50), ..one_connection(database.url()) };
    let store = open(&settings).await;
    let session = store.session().await.expect("a session");
    let refused = store.ping().await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    drop(session);
    store.ping().await.expect("free again");
}

#[tokio::test]
async fn a_lost_connection_is_replaced() {
    let database = database().await;
    let proxy = Proxy::start(address(&database.url()));
    let store = open(&one_connection(proxy.url(&database.url()))).await;
    let session = store.session().await.expect("a session");
    proxy.cut();
    let lost = session.query(nodes_ping(), &[]).await;
    assert!(matches!(lost, Err(Fault::Failed(StoreError::Unavailable(_)))), "{lost:?}");
    drop(session);
    store.ping().await.expect("the pool opens another");
}

#[tokio::test]
async fn a_terminated_session_is_unavailable() {
    let database = database().await;
    let store = store(&database).await;
    store.take_token("key", BUCKET).await.expect("an answer");
    let blocker = beside(&database).await;
    blocker.batch_execute("BEGIN; SELECT 1 FROM rate_buckets FOR UPDATE").await.expect("locked");
    let call = store.take_token("key", BUCKET);
    let terminate = async {
        until_pool_sessions(&database, "wait_event_type = 'Lock'", 1).await;
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                   AND datname = current_database()";
        database.query(sql).await;
    };
    let (ended, ()) = join(call, terminate).await;
    assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
    store.ping().await.expect("the pool opens another");
}

#[tokio::test]
async fn transactions_that_deadlock_are_repeated() {
    let database = database().await;
    let store = open(&DatabaseSettings::with_url(database.url())).await;
    database.query(&format!("ALTER DATABASE {} SET deadlock_timeout = '20ms'", database.name())).await;
    let (alex, sam) = (person(&store, "alex").await, person(&store, "sam").await);
    // Both hold one stream before either asks for the other's, in the first try.
    let barrier = tokio::sync::Barrier::new(2);
    let crossing = async |first: UserId, second: UserId| {
        let mut tries = 0;
        let outcome: Result<(), StoreError> = repeated!(async {
            tries += 1;
            let session = store.session().await?;
            let (one, other) = (vec![first.0], vec![second.0]);
            let (transaction, [_]) = session.begin([(LOCK, &[&one])]).await?;
            if tries == 1 {
                barrier.wait().await;
            }
            transaction.run([(LOCK, &[&other])]).await?;
            let drafts = [message(first), message(second)];
            transaction.commit([(APPEND, &Append::new(&drafts).params())]).await?;
            Ok::<(), Fault>(())
        });
        outcome.expect("repeated until it went through");
        tries
    };
    let (one, other) = join(crossing(alex, sam), crossing(sam, alex)).await;
    assert_eq!(one + other, 3, "one of them was repeated once");
    assert_eq!(database.query("SELECT 1 FROM streams WHERE head = 2").await.len(), 2);
}

#[tokio::test]
async fn statements_outlive_a_migration_of_their_table() {
    let database = database().await;
    let store = store(&database).await;
    let alex = person(&store, "alex").await;
    store.user(alex).await.expect("an answer").expect("a person");
    database.query("ALTER TABLE users ALTER COLUMN role TYPE varchar(200)").await;
    let found = store.user(alex).await.expect("prepared anew").expect("a person");
    assert_eq!(found.id, alex);
}

#[tokio::test]
async fn a_standby_is_no_database_to_work_with() {
    let database = database().await;
    let store = store(&database).await;
    let alex = person(&store, "alex").await;
    let before = backend(&store).await;
    // Of a session that stood when its server became a standby.
    let session = store.session().await.expect("a session");
    let client = session.client().expect("a client");
    client.batch_execute("SET default_transaction_read_only = on").await.expect("set");
    drop(session);
    let refused = store.record_login_failure(alex, 3, Duration::ZERO).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_ne!(backend(&store).await, before);

    database
        .query(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name()))
        .await;
    let refused = connect(&DatabaseSettings::with_url(database.url()), "test").await.map(drop);
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn the_text_of_an_error_shows_no_values() {
    let database = database().await;
    let store = store(&database).await;
    let session = store.session().await.expect("a session");
    let drafts = [Draft { data: r#"{"body": "hunter2"#.into(), ..message(UserId::new()) }];
    let Err(fault) = session.query(APPEND, &Append::new(&drafts).params()).await else { panic!("bad JSON") };
    let error = StoreError::from(fault);
    assert!(error.to_string().contains("log/append: 22P02"), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(error.public_message(), "a fault of the server");
}

#[tokio::test]
async fn metrics_are_labelled_with_the_statement() {
    let database = database().await;
    let registry = Registry::new();
    let store = Postgres::connect(&one_connection(database.url()), &registry).await.expect("an answer");
    store.ping().await.expect("an answer");
    let refused = store.end_session(UserId::new(), domain::AuthSessionId::new()).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::NotFound(_)))));
    let counted: std::collections::HashMap<String, u64> = registry
        .gather()
        .iter()
        .filter(|family| family.name() == "switchboard_db_statement_seconds")
        .flat_map(|family| family.get_metric().to_vec())
        .map(|metric| (metric.get_label()[0].value().to_owned(), metric.get_histogram().get_sample_count()))
        .collect();
    assert_eq!(counted.len(), statement::all().count());
    assert_eq!((counted["nodes/ping"], counted["sessions/end"], counted["nodes/beat"]), (1, 1, 0));

    let twice = Postgres::connect(&one_connection(database.url()), &registry).await;
    assert!(matches!(twice, Err(StoreError::Internal(_))), "{twice:?}");
}

fn nodes_ping() -> &'static Statement {
    statement::all().find(|statement| statement.name == "nodes/ping").expect("a statement")
}
