//! What a database says of itself.

use store::postgres::{DatabaseSettings, inspect};
use testkit::postgres::TestDatabase;

#[tokio::test]
async fn a_database_is_looked_into_before_it_is_migrated() {
    let database = TestDatabase::empty().await;
    let facts = inspect(&DatabaseSettings::with_url(database.url())).await.expect("an answer");
    assert!(facts.version.starts_with(&facts.major.to_string()), "{facts:?}");
    assert!(facts.major >= 15, "{facts:?}");
    assert!((1..=facts.most_connections).contains(&facts.connections), "{facts:?}");
    assert!((0.0..=1.0).contains(&facts.notification_queue), "{facts:?}");
    // Its clock is ours.
    assert!(facts.clock_ahead.unsigned_abs() <= facts.round_trip, "{facts:?}");
}

#[tokio::test]
async fn nobody_is_there_to_be_asked() {
    let settings = DatabaseSettings::with_url("postgres://alex@127.0.0.1:1/nothing");
    inspect(&settings).await.expect_err("nobody listens");
}
