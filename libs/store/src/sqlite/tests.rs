//! What only this module can see: jobs, transactions, migrations.

use std::path::PathBuf;

use domain::{EventKind, UserId};
use serde_json::json;
use tempfile::TempDir;

use super::append::{append, append_one};
use super::statement::Statement;
use super::*;
use crate::Refusal;
use crate::log::draft::Draft;

mod migrations;
mod notices;
mod plans;
mod power;
mod presence;

const PING: &Statement = &Statement { name: "tests/ping", sql: "SELECT 1 AS one" };
const STREAM: &Statement =
    &Statement { name: "tests/stream", sql: "INSERT INTO streams (id, kind) VALUES (?1, 'user')" };
const HEADS: &Statement = &Statement { name: "tests/heads", sql: "SELECT head FROM streams" };
const EVENTS: &Statement = &Statement { name: "tests/events", sql: "SELECT seq FROM events ORDER BY seq" };

/// A fresh database, which goes with its folder.
struct Fresh {
    store: Sqlite,
    registry: Registry,
    folder: TempDir,
}

fn fresh() -> Fresh {
    let (folder, registry) = (tempfile::tempdir().expect("a folder"), Registry::new());
    let store = Sqlite::open(&file(&folder), &registry).expect("a database");
    Fresh { store, registry, folder }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("switchboard.db")
}

fn message(stream: UserId) -> Draft {
    Draft::of_system(stream, EventKind::SessionRevoked, &json!({}))
}

async fn stream(store: &Sqlite) -> UserId {
    let user = UserId::new();
    store.write(move |tx| tx.execute(STREAM, &[&user.0])).await.expect("a stream");
    user
}

async fn numbers(store: &Sqlite, statement: &'static Statement) -> Vec<i64> {
    let numbers = store.read(|tx| tx.rows(statement, &[], |row| Ok(row.get(0).expect("a number"))));
    numbers.await.expect("an answer")
}

#[tokio::test]
async fn every_statement_prepares_on_a_fresh_schema() {
    let Fresh { store: _kept, folder, .. } = fresh();
    let connection = open::writer(&file(&folder)).expect("a connection");
    for statement in statement::all() {
        if let Err(error) = connection.prepare(statement.sql) {
            panic!("{}: {error}", statement.name);
        }
    }
}

#[tokio::test]
async fn every_view_can_be_read() {
    let Fresh { store: _kept, folder, .. } = fresh();
    let connection = open::writer(&file(&folder)).expect("a connection");
    for view in ["run_documents", "task_documents", "task_run_documents", "notification_facts"] {
        let rows: i64 = connection
            .query_row(&format!("SELECT count(*) FROM (SELECT * FROM {view})"), [], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{view}: {error}"));
        assert_eq!(rows, 0, "{view}");
    }
}

#[tokio::test]
async fn a_job_that_fails_leaves_nothing() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let alex = stream(&store).await;
    let failed = store
        .write(move |tx| {
            append_one(tx, &message(alex))?;
            // The second is for a stream that is not there.
            append(tx, &[message(alex), message(UserId::new())])
        })
        .await;
    assert!(matches!(failed, Err(StoreError::Internal(_))), "{failed:?}");
    let refused: Result<(), _> = store
        .write(move |tx| {
            append_one(tx, &message(alex))?;
            Err(Refusal::Forbidden.into())
        })
        .await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Forbidden))), "{refused:?}");
    assert_eq!((numbers(&store, HEADS).await, numbers(&store, EVENTS).await), (vec![0], vec![]));

    let event = store.write(move |tx| append_one(tx, &message(alex))).await.expect("appended");
    assert_eq!(event.seq, 1, "no number was used up");
    assert_eq!((numbers(&store, HEADS).await, numbers(&store, EVENTS).await), (vec![1], vec![1]));
}

#[tokio::test]
async fn a_job_that_panics_fails_alone() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let alex = stream(&store).await;
    let before = store.write(move |tx| append_one(tx, &message(alex)));
    let panicked = store.write(move |tx| -> Result<(), Fault> {
        append_one(tx, &message(alex))?;
        panic!("a test's own");
    });
    let after = store.write(move |tx| append_one(tx, &message(alex)));
    let (before, panicked, after) = tokio::join!(before, panicked, after);
    assert_eq!(before.expect("appended").seq, 1);
    assert!(matches!(panicked, Err(StoreError::Internal(_))), "{panicked:?}");
    assert_eq!(after.expect("appended").seq, 2);
    // As many panics as there are readers: each lives on.
    for _ in 0..2 * workers::READERS {
        let panicked = store.read(|_| -> Result<(), Fault> { panic!("a test's own") }).await;
        assert!(panicked.is_err());
    }
    assert_eq!(numbers(&store, EVENTS).await, [1, 2]);
}

#[tokio::test]
async fn a_job_that_does_not_end_is_ended() {
    const FOR_EVER: &Statement = &Statement {
        name: "tests/for_ever",
        sql: "WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers) SELECT max(n) FROM numbers",
    };
    let Fresh { store, folder: _kept, .. } = fresh();
    let alex = stream(&store).await;
    let ended = store.write(move |tx| {
        append_one(tx, &message(alex))?;
        tx.rows(FOR_EVER, &[], |_| Ok(()))
    });
    let after = store.write(move |tx| append_one(tx, &message(alex)));
    let (ended, after) = tokio::join!(ended, after);
    assert!(matches!(ended, Err(StoreError::Timeout(_))), "{ended:?}");
    assert_eq!(after.expect("appended").seq, 1, "nothing of it is left");
}

#[tokio::test]
async fn a_reader_writes_nothing() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let refused = store.read(|tx| tx.execute(STREAM, &[&UserId::new().0])).await;
    assert!(matches!(refused, Err(StoreError::Denied(_))), "{refused:?}");
    assert!(numbers(&store, HEADS).await.is_empty());
}

#[tokio::test]
async fn a_reader_sees_one_moment() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let alex = stream(&store).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (written, is_written) = std::sync::mpsc::channel::<()>();
    let reading = {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .read(move |tx| {
                    let read = |_: &rusqlite::Row<'_>| Ok(());
                    let first = tx.rows(EVENTS, &[], read)?.len();
                    begun.send(()).expect("awaited");
                    is_written.recv().expect("told");
                    Ok((first, tx.rows(EVENTS, &[], read)?.len()))
                })
                .await
        })
    };
    has_begun.await.expect("begun");
    store.write(move |tx| append_one(tx, &message(alex))).await.expect("it does not wait for readers");
    assert_eq!(numbers(&store, EVENTS).await, [1], "another reader sees it");
    written.send(()).expect("it waits");
    assert_eq!(reading.await.expect("no panic").expect("read"), (0, 0));
}

#[tokio::test]
async fn who_is_gone_has_nothing_done() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let alex = stream(&store).await;
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let holding = {
        let store = store.clone();
        let hold = move |_: &Tx<'_>| {
            begun.send(()).expect("awaited");
            may_go.recv().map_err(|error| Fault::internal(error.to_string()))
        };
        tokio::spawn(async move { store.write(hold).await })
    };
    has_begun.await.expect("begun");
    // It waits behind the other, and its caller leaves.
    let mut waiting = Box::pin(store.write(move |tx| append_one(tx, &message(alex))));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    drop(waiting);
    go.send(()).expect("it waits");
    holding.await.expect("no panic").expect("done");
    let event = store.write(move |tx| append_one(tx, &message(alex))).await.expect("appended");
    assert_eq!(event.seq, 1);
}

#[tokio::test]
async fn parameters_are_as_many_as_the_statement_has() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let failed = store.write(|tx| tx.execute(STREAM, &[])).await;
    assert!(matches!(failed, Err(StoreError::Internal(_))), "{failed:?}");
}

#[tokio::test]
async fn the_text_of_an_error_shows_no_values() {
    let Fresh { store, folder: _kept, .. } = fresh();
    let alex = stream(&store).await;
    let bad = Draft { data: r#"{"body": "hunter2"#.into(), ..message(alex) };
    let error = store.write(move |tx| append_one(tx, &bad)).await.expect_err("bad JSON");
    assert!(error.to_string().contains("log/append: "), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(error.public_message(), "a fault of the server");
}

#[tokio::test]
async fn metrics_are_labelled_with_the_statement() {
    let Fresh { store, registry, folder } = fresh();
    let alex = stream(&store).await;
    store.write(move |tx| append(tx, &[message(alex), message(alex)])).await.expect("appended");
    store.read(|tx| tx.exists(PING, &[])).await.expect("an answer");
    let counted: std::collections::HashMap<String, u64> = registry
        .gather()
        .iter()
        .filter(|family| family.name() == "switchboard_db_statement_seconds")
        .flat_map(|family| family.get_metric().to_vec())
        .map(|metric| (metric.get_label()[0].value().to_owned(), metric.get_histogram().get_sample_count()))
        .collect();
    assert_eq!(counted.len(), statement::all().count());
    assert_eq!((counted["log/append"], counted["nodes/ping"]), (2, 0));

    let twice = Sqlite::open(&file(&folder), &registry);
    assert!(matches!(twice, Err(StoreError::Internal(_))), "{twice:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_reads_the_file() {
    use std::os::unix::fs::PermissionsExt;

    let Fresh { store, folder, .. } = fresh();
    stream(&store).await;
    for file in std::fs::read_dir(folder.path()).expect("a folder") {
        let file = file.expect("an entry");
        let mode = file.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?} is {mode:o}", file.file_name());
    }
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(file(&folder), "this is a letter to Sam, of more than a few words, and no database")
        .expect("written");
    let refused = Sqlite::open(&file(&folder), &Registry::new());
    assert!(matches!(refused, Err(StoreError::Internal(_))), "{refused:?}");
    let of_others = folder.path().join("others.db");
    let connection = rusqlite::Connection::open(&of_others).expect("a database");
    connection.execute_batch("CREATE TABLE soups (name TEXT)").expect("a table");
    let refused = Sqlite::open(&of_others, &Registry::new());
    let is_named = |text: &str| text.contains("soups") && text.contains("embedded.file");
    assert!(matches!(&refused, Err(StoreError::Schema(text)) if is_named(text)), "{refused:?}");
    let refused = Sqlite::open(&folder.path().join("nowhere/switchboard.db"), &Registry::new());
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}
