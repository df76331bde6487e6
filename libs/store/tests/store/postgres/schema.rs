//! Migrations.

use futures_util::future::join_all;
use prometheus::Registry;
use store::StoreError;
use store::postgres::{DatabaseSettings, MIGRATIONS, Postgres, SchemaVersion, migrate, schema_version};
use testkit::postgres::TestDatabase;

async fn empty() -> (TestDatabase, DatabaseSettings) {
    let database = TestDatabase::empty().await;
    let settings = DatabaseSettings::with_url(database.url());
    (database, settings)
}

fn newest() -> u32 {
    MIGRATIONS.last().expect("a migration").version
}

/// The text of a refusal.
fn schema_error<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::Schema(text)) => text,
        other => panic!("not refused for its schema: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_migrators_at_once() {
    let (database, settings) = empty().await;
    let migrators = join_all((0..6).map(|_| {
        let settings = settings.clone();
        tokio::spawn(async move { migrate(&settings).await.expect("migrated") })
    }))
    .await;
    let applied: Vec<u32> = migrators
        .into_iter()
        .flat_map(|applied| applied.expect("no panic"))
        .map(|applied| applied.version)
        .collect();
    // Whoever came first did all of it, in order; had two done a part each, the numbers would still be all there once.
    assert_eq!(applied, (1..=newest()).collect::<Vec<_>>());
    assert_eq!(database.query("SELECT 1 FROM log_state").await.len(), 1);
}

#[tokio::test]
async fn migrating_again_changes_nothing() {
    let (database, settings) = empty().await;
    let before = schema_version(&settings).await.expect("an answer");
    assert_eq!(before, SchemaVersion { database: 0, binary: newest() });
    assert_eq!(migrate(&settings).await.expect("migrated").len(), MIGRATIONS.len());
    let epoch = database.query("SELECT log_epoch FROM log_state").await;
    assert_eq!(migrate(&settings).await.expect("migrated"), []);
    assert_eq!(database.query("SELECT log_epoch FROM log_state").await, epoch);
    let after = schema_version(&settings).await.expect("an answer");
    assert_eq!(after, SchemaVersion { database: newest(), binary: newest() });
}

#[tokio::test]
async fn a_serving_node_wants_a_migrated_database() {
    let (database, settings) = empty().await;
    let refused = schema_error(Postgres::connect(&settings, &Registry::new()).await);
    assert!(refused.contains("run `switchboard migrate`"), "{refused}");

    migrate(&settings).await.expect("migrated");
    Postgres::connect(&settings, &Registry::new()).await.expect("a migrated database");

    database.query(&format!("DELETE FROM schema_migrations WHERE version = {}", newest())).await;
    let refused = schema_error(Postgres::connect(&settings, &Registry::new()).await);
    assert!(refused.contains("run `switchboard migrate`"), "{refused}");
}

#[tokio::test]
async fn a_newer_database_is_served_but_not_migrated() {
    let (database, settings) = empty().await;
    migrate(&settings).await.expect("migrated");
    let newer = newest() + 1;
    database
        .query(&format!("INSERT INTO schema_migrations VALUES ({newer}, 'add_later', '\\x00', now())"))
        .await;
    let refused = schema_error(migrate(&settings).await);
    assert!(refused.contains("add_later") && refused.contains("use the newer release"), "{refused}");
    // An old node lives on while a new release is rolled out.
    Postgres::connect(&settings, &Registry::new()).await.expect("served");
}

#[tokio::test]
async fn a_migration_that_was_changed_is_refused() {
    let (database, settings) = empty().await;
    migrate(&settings).await.expect("migrated");
    database.query("UPDATE schema_migrations SET checksum = '\\x00' WHERE version = 1").await;
    let refused = schema_error(migrate(&settings).await);
    assert!(refused.contains("must not be changed"), "{refused}");
}

#[tokio::test]
async fn a_migrator_that_died_leaves_the_way_free() {
    let (database, settings) = empty().await;
    // What stands in the way of the second migration: the first is kept, nothing of the second.
    database.query("CREATE TABLE members ()").await;
    let failed = migrate(&settings).await;
    assert!(matches!(failed, Err(StoreError::Internal(_))), "{failed:?}");
    let stands = schema_version(&settings).await.expect("an answer");
    assert_eq!(stands.database, 1);
    assert_eq!(database.query("SELECT to_regclass('streams')").await[0][0], None);

    database.query("DROP TABLE members").await;
    let rest = migrate(&settings).await.expect("migrated");
    assert_eq!(rest.len(), MIGRATIONS.len() - 1);
}
