//! Machines that went down while the database was in use.

use std::path::Path;

use super::*;
use crate::Log as _;

fn mark(path: &Path) -> PathBuf {
    path.with_file_name("switchboard.db.boot")
}

async fn epoch(path: &Path) -> domain::LogEpoch {
    let store = Sqlite::open(path, &Registry::new()).expect("a database");
    store.log_epoch().await.expect("an epoch")
}

#[tokio::test]
async fn a_process_that_dies_leaves_the_epoch() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder);
    let first = epoch(&path).await;
    assert!(mark(&path).exists(), "it was not put to rest");
    assert_eq!(epoch(&path).await, first);
}

#[tokio::test]
async fn a_machine_that_goes_down_ends_the_epoch_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder);
    let first = epoch(&path).await;
    std::fs::write(mark(&path), "the boot before").expect("written");
    let second = epoch(&path).await;
    assert_ne!(second, first);
    assert_eq!(epoch(&path).await, second);
}

#[tokio::test]
async fn what_was_put_to_rest_outlives_its_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder);
    let first = epoch(&path).await;
    rest(&path).expect("at rest");
    assert!(!mark(&path).exists());
    let log = path.with_file_name("switchboard.db-wal");
    assert!(std::fs::metadata(&log).map_or(0, |log| log.len()) == 0, "all of it is in the database itself");
    assert_eq!(epoch(&path).await, first);
    assert!(mark(&path).exists(), "used again");
}

#[test]
fn what_is_gone_is_not_made_by_its_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = rest(&file(&folder));
    assert!(matches!(gone, Err(StoreError::Unavailable(_))), "{gone:?}");
    assert!(!file(&folder).exists());
}

#[tokio::test]
async fn a_copy_begins_an_epoch_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder);
    let first = epoch(&path).await;
    let copy = folder.path().join("copy.db");
    backup(&path, &copy).expect("copied");
    let second = epoch(&copy).await;
    assert_ne!(second, first);
    assert_eq!((epoch(&copy).await, epoch(&path).await), (second, first));
}

#[tokio::test]
async fn a_mark_that_nobody_can_read_is_of_no_boot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder);
    let first = epoch(&path).await;
    std::fs::write(mark(&path), [0xff, 0xfe]).expect("written");
    assert_ne!(epoch(&path).await, first);
}

#[tokio::test]
async fn a_command_beside_the_process_notes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder);
    let first = epoch(&path).await;
    rest(&path).expect("at rest");
    let beside = Sqlite::join(&path, &Registry::new()).expect("joined");
    assert_eq!(beside.log_epoch().await.expect("an epoch"), first);
    assert!(!mark(&path).exists());
}
