//! PostgreSQL: the contract suite, and what only this database has.

mod inspect;
mod log;
mod plans;
mod push;
mod queue;
mod runs;
mod schema;
mod tls;

use std::sync::Arc;

use prometheus::Registry;
use store::postgres::{DatabaseSettings, Postgres, migrate, schema_digest};
use testkit::postgres::TestDatabase;

use crate::suite::Subject;

/// A migrated database.
async fn database() -> TestDatabase {
    let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
    TestDatabase::from_template(&schema_digest(), migrated).await
}

async fn store(settings: &DatabaseSettings) -> Arc<Postgres> {
    Arc::new(Postgres::connect(settings, &Registry::new()).await.expect("the database answers"))
}

pub(crate) async fn subject() -> Subject {
    let database = database().await;
    let store = store(&DatabaseSettings::with_url(database.url())).await;
    Subject::new(store, database)
}

mod contract {
    crate::suite::contract_tests!(crate::postgres::subject);
}
