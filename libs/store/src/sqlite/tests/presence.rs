//! Presence over the life of a process.

use std::time::Duration;

use super::*;
use crate::presence::Presence;

const TTL: Duration = Duration::from_secs(3600);

const WATCHED_LONG: &Statement = &Statement {
    name: "tests/watched_long",
    sql: "INSERT INTO presence_epoch (only_row, since, watched_at) VALUES (1, ?1, ?2)",
};

#[tokio::test]
async fn what_another_process_watched_is_not_settled() {
    let Fresh { store, folder, .. } = fresh();
    let watched = store.write(|tx| tx.execute(WATCHED_LONG, &[&tx.before(2 * TTL), &tx.micros()]));
    assert_eq!(watched.await.expect("written"), 1);
    assert_eq!(store.live_people(&[], TTL).await.expect("an answer").settles_in, None);

    drop(store);
    let again = Sqlite::open(&file(&folder), &Registry::new()).expect("a database");
    assert_eq!(again.live_people(&[], TTL).await.expect("an answer").settles_in, Some(TTL));
    again.watch_presence(TTL).await.expect("watched");
    let settles_in = again.live_people(&[], TTL).await.expect("an answer").settles_in;
    assert!(settles_in.is_some_and(|left| left > TTL / 2 && left <= TTL), "{settles_in:?}");
}
