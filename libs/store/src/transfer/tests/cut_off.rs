//! Imports that are cut off, and go on.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use super::*;

/// Imports until so many steps were told, and dies in the next: the connection is gone, with whatever it was doing.
async fn die_after(target: &Target, export: &Export, steps: usize) -> Option<Result<Loaded, TransferError>> {
    let told = std::sync::atomic::AtomicUsize::new(0);
    let mut watcher = |_: Progress| {
        told.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    };
    let mut load = pin!(load_in(&target.settings, export, 100, &mut watcher));
    poll_fn(|cx| {
        let polled = load.as_mut().poll(cx);
        if told.load(std::sync::atomic::Ordering::SeqCst) > steps {
            return Poll::Ready(None);
        }
        polled.map(Some)
    })
    .await
}

#[tokio::test]
async fn an_import_that_dies_anywhere_goes_on() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    let (mut deaths, mut step) = (0, 0);
    // Each dies a little later than the one before it, counted from where that one was.
    while die_after(&target, &export, step % 7).await.is_none() {
        deaths += 1;
        step += 1;
        let refused = target.open().await.map(drop).expect_err("half a database");
        assert!(refused.to_string().contains("run `switchboard import`"), "{refused}");
        let refused = migrate(&target.settings).await.expect_err("half a database");
        assert!(refused.to_string().contains("run `switchboard import`"), "{refused}");
    }
    assert!(deaths > 15, "{deaths}");
    // Loaded is not finished.
    assert!(target.open().await.is_err());
    finish_import(&target.settings, &export, &[]).await.expect("finished");
    assert_eq!(target.number("SELECT count(*) FROM events").await, 598);
    target.open().await.expect("it may be served");
}

#[tokio::test]
async fn an_import_whose_database_is_lost_goes_on() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = '{}' AND application_name = 'switchboard/import'",
        target.database.name()
    );
    // A row at a time, so that it is in the middle of something.
    let mut watcher = |_: Progress| ();
    let mut load = pin!(load_in(&target.settings, &export, 1, &mut watcher));
    let losing = async {
        while target.database.query("SELECT 1 WHERE to_regclass('import_progress') IS NULL").await.len() == 1
        {
        }
        assert_eq!(target.database.query(&end).await.len(), 1);
    };
    let (lost, ()) = tokio::join!(&mut load, losing);
    let lost = lost.expect_err("its connection was ended");
    assert!(matches!(lost, TransferError::Store(StoreError::Unavailable(_))), "{lost:?}");
    assert!(target.open().await.is_err(), "half a database");
    target.import(&export).await.expect("imported");
    assert_eq!(target.number("SELECT count(*) FROM events").await, 598);
}

#[tokio::test]
async fn one_import_does_not_go_on_with_another_export() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    assert!(die_after(&target, &export, 20).await.is_none());
    source.sql("UPDATE rooms SET name = 'Dinner' WHERE kind = 'group'");
    let other = source.export("other");
    let refused = target.import(&other).await.expect_err("another").to_string();
    assert!(refused.contains("the import of another export"), "{refused}");
    target.import(&export).await.expect("imported");
    assert_eq!(target.number("SELECT count(*) FROM rooms WHERE name = 'Lunch'").await, 1);
}

#[tokio::test]
async fn what_a_crash_of_the_database_empties_is_loaded_again() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    load_in(&target.settings, &export, 100, &mut |_| ()).await.expect("loaded");
    target.database.query("DELETE FROM run_patches").await;
    target.import(&export).await.expect("imported");
    assert_eq!(target.number("SELECT count(*) FROM run_patches").await, 2);
}

#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_is_found() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    let written = async {
        let mut loaded = Vec::new();
        load_in(&target.settings, &export, 100, &mut |progress| loaded.push(progress)).await
    };
    assert!(die_after(&target, &export, 3).await.is_none());
    target.database.query("INSERT INTO streams (id, kind) VALUES (gen_random_uuid(), 'user')").await;
    let refused = written.await.expect_err("one row too many").to_string();
    assert!(refused.contains("streams: 10 rows were read from the database, 9 were exported"), "{refused}");
    assert!(target.open().await.is_err(), "nobody serves it");
}

#[tokio::test]
async fn two_imports_at_once_are_one() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    let (mut one, mut other) = (|_: Progress| (), |_: Progress| ());
    let (first, second) = tokio::join!(
        load_in(&target.settings, &export, 100, &mut one),
        load_in(&target.settings, &export, 100, &mut other)
    );
    first.expect("one has the lock");
    second.expect("the other finds everything done");
    // Whichever is sooner ends it, and the other has nothing left to do.
    for _ in 0..2 {
        finish_import(&target.settings, &export, &[]).await.expect("finished");
    }
    let again = load_in(&target.settings, &export, 100, &mut one).await;
    assert_eq!(again.expect("it is there"), Loaded::Before);
    assert_eq!(target.number("SELECT count(*) FROM events").await, 598);
}
