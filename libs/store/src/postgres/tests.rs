//! What only this module can see: statements, sessions, transactions.

use prometheus::Registry;
use testkit::postgres::TestDatabase;

use super::*;

async fn database() -> TestDatabase {
    let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
    TestDatabase::from_template(&schema_digest(), migrated).await
}

/// A store whose pool has one connection, so that whatever one call leaves behind the next one meets.
async fn store(database: &TestDatabase) -> Postgres {
    let settings = DatabaseSettings { pool_size: 1, ..DatabaseSettings::with_url(database.url()) };
    Postgres::connect(&settings, &Registry::new()).await.expect("the database answers")
}

#[tokio::test]
async fn every_statement_prepares_on_a_fresh_schema() {
    let database = database().await;
    let store = store(&database).await;
    let session = store.session().await.expect("a session");
    for statement in statement::all() {
        if let Err(error) = session.client().expect("a client").prepare(statement.sql).await {
            panic!("{}: {:?}", statement.name, error.as_db_error());
        }
    }
}
