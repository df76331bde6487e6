//! Migrating: what is kept, and what is refused.

use rusqlite::Connection;

use super::*;

fn opened(folder: &TempDir) -> Result<Sqlite, StoreError> {
    Sqlite::open(&file(folder), &Registry::new())
}

/// A database as the release had left it that knew so many migrations, with a person in it.
fn older(folder: &TempDir, migrations: usize) {
    Sqlite::open_at(&file(folder), &Registry::new(), &MIGRATIONS[..migrations]).expect("a database");
    beside(folder).execute_batch(PERSON).expect("a person");
}

const PERSON: &str = "INSERT INTO users
    (id, handle, display_name, handle_lower, display_name_lower, role, password_hash, created_at)
    VALUES (zeroblob(16), 'alex', 'Alex', 'alex', 'alex', 'user', '', 0)";

/// A connection beside those of the store.
fn beside(folder: &TempDir) -> Connection {
    Connection::open(file(folder)).expect("a connection")
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).expect("a number")
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !["-wal", "-shm", ".boot"].iter().any(|end| name.ends_with(end)))
        .collect();
    names.sort();
    names
}

/// The text of a refusal.
fn schema_error(outcome: Result<Sqlite, StoreError>) -> String {
    match outcome {
        Err(StoreError::Schema(text)) => text,
        other => panic!("not refused for its schema: {other:?}"),
    }
}

#[test]
fn opening_again_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(opened(&folder).expect("a database"));
    let epoch = || {
        beside(&folder)
            .query_row("SELECT log_epoch, system_identifier FROM log_state", [], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?))
            })
            .expect("an epoch")
    };
    let first = epoch();
    drop(opened(&folder).expect("a database"));
    assert_eq!(epoch(), first);
    assert_eq!(number(&beside(&folder), "SELECT count(*) FROM schema_migrations"), MIGRATIONS.len() as i64);
    assert_eq!(names(&folder), ["switchboard.db"], "a new database is not copied");
}

#[test]
fn an_older_database_is_migrated_and_its_copy_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    older(&folder, 7);
    opened(&folder).expect("migrated");
    let migrated = beside(&folder);
    assert_eq!(number(&migrated, "SELECT max(version) FROM schema_migrations"), MIGRATIONS.len() as i64);
    assert_eq!(number(&migrated, "SELECT count(*) FROM users"), 1);

    assert_eq!(names(&folder), ["switchboard.db", "switchboard.db.before-0008"]);
    let copy = Connection::open(folder.path().join("switchboard.db.before-0008")).expect("a copy");
    assert_eq!(number(&copy, "SELECT max(version) FROM schema_migrations"), 7);
    assert_eq!(number(&copy, "SELECT count(*) FROM users"), 1);
    let same = "SELECT count(*) FROM log_state";
    assert_eq!((number(&copy, same), number(&migrated, same)), (1, 1));
}

#[test]
fn a_copy_of_before_is_replaced_by_that_of_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("switchboard.db.before-0010");
    older(&folder, 9);
    // Left by who tried before, and by who died over it.
    std::fs::write(&copy, "old").expect("written");
    std::fs::write(folder.path().join("switchboard.db.before-0010.part"), "half").expect("written");
    opened(&folder).expect("migrated");
    assert_eq!(number(&Connection::open(&copy).expect("a copy"), "SELECT count(*) FROM users"), 1);
    assert_eq!(names(&folder), ["switchboard.db", "switchboard.db.before-0010"]);
}

#[test]
fn a_newer_database_is_refused_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(opened(&folder).expect("a database"));
    let newer =
        format!("INSERT INTO schema_migrations VALUES ({}, 'add_later', x'00', 0)", MIGRATIONS.len() + 1);
    beside(&folder).execute_batch(&newer).expect("written");
    let refused = schema_error(opened(&folder));
    assert!(refused.contains("add_later") && refused.contains("use the newer release"), "{refused}");
    assert_eq!(names(&folder), ["switchboard.db"]);
}

#[test]
fn a_migration_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    older(&folder, 7);
    beside(&folder)
        .execute_batch("UPDATE schema_migrations SET checksum = x'00' WHERE version = 1")
        .expect("written");
    let refused = schema_error(opened(&folder));
    assert!(refused.contains("must not be changed"), "{refused}");
    assert_eq!(number(&beside(&folder), "SELECT max(version) FROM schema_migrations"), 7);
}

#[test]
fn a_migration_that_fails_leaves_what_was_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    older(&folder, 7);
    // What stands in the way of the ninth: the eighth is kept, nothing of the ninth.
    beside(&folder).execute_batch("CREATE TABLE signing_keys (kid TEXT)").expect("made");
    let failed = opened(&folder);
    assert!(matches!(failed, Err(StoreError::Internal(_))), "{failed:?}");
    let stands = beside(&folder);
    assert_eq!(number(&stands, "SELECT max(version) FROM schema_migrations"), 8);
    assert_eq!(number(&stands, "SELECT count(*) FROM sqlite_schema WHERE name = 'signing_manifest'"), 0);

    stands.execute_batch("DROP TABLE signing_keys").expect("dropped");
    opened(&folder).expect("the way is free");
    assert_eq!(
        names(&folder),
        ["switchboard.db", "switchboard.db.before-0008", "switchboard.db.before-0009"]
    );
}
