//! The worker against real databases.
// A fault in a helper is a fault of the test, told by failing it.
#![allow(clippy::expect_used, clippy::panic)]

mod retention;
mod role;

use std::time::Duration;

use store::postgres::{DatabaseSettings, migrate, schema_digest};
use testkit::postgres::TestDatabase;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A migrated database.
async fn database() -> TestDatabase {
    let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
    TestDatabase::from_template(&schema_digest(), migrated).await
}

/// Asks again and again until the answer is there.
async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("{what} took too long"))
}
