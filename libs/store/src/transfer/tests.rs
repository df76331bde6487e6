//! From one database into the other, through a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prometheus::Registry;
use tempfile::TempDir;
use testkit::postgres::TestDatabase;

use super::tables::{DERIVED, Kind, LEFT_BEHIND, Rows, TABLES};
use super::*;
use crate::log::Log;
use crate::postgres::{DatabaseSettings, Loaded, Postgres, finish_import, load_in, migrate, schema_digest};
use crate::sqlite::{Circumstances, Sqlite, export};

mod cut_off;
mod refusals;

/// A SQLite database with rows in every table, and a place for exports of it.
struct Source {
    folder: TempDir,
}

impl Source {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Self { folder };
        drop(Sqlite::open(&source.file(), &Registry::new()).expect("a database"));
        source.sql(include_str!("tests/everything.sql"));
        source
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("switchboard.db")
    }

    fn connection(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.file()).expect("a connection");
        let numbers = "CREATE TEMP TABLE numbers AS WITH RECURSIVE counted (n) AS
            (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 1000) SELECT n FROM counted";
        connection.execute_batch(numbers).expect("numbers");
        connection
    }

    fn sql(&self, sql: &str) {
        self.connection().execute_batch(&with_ids(sql)).unwrap_or_else(|error| panic!("{error}"));
    }

    /// An export of what is there now.
    fn export(&self, name: &str) -> Export {
        let dir = self.folder.path().join(name);
        fs::create_dir(&dir).expect("a folder");
        self.export_into(&dir).expect("exported");
        Export::open(&dir).expect("an export")
    }

    fn export_into(&self, dir: &Path) -> Result<Manifest, TransferError> {
        let circumstances = Circumstances { release: "0.1.0".into(), served: false };
        export(&self.file(), dir, &circumstances, &mut |_| ())
    }

    fn rows(&self, table: &str) -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        self.connection().query_row(&count, [], |row| row.get(0)).expect("a number")
    }
}

/// SQL in which `id(n)` is the id of that number.
fn with_ids(sql: &str) -> String {
    let (first, rest) = sql.split_once("id(").unwrap_or((sql, ""));
    if rest.is_empty() {
        return sql.to_owned();
    }
    let (number, rest) = rest.split_once(')').expect("its end");
    format!("{first}unhex(printf('%032x', {number})){}", with_ids(rest))
}

/// A migrated database that was never served.
struct Target {
    database: TestDatabase,
    settings: DatabaseSettings,
}

impl Target {
    async fn new() -> Self {
        let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
        let database = TestDatabase::from_template(&schema_digest(), migrated).await;
        let settings = DatabaseSettings::with_url(database.url());
        Self { database, settings }
    }

    async fn import(&self, export: &Export) -> Result<(), TransferError> {
        load_in(&self.settings, export, 100, &mut |_| ()).await?;
        finish_import(&self.settings, export, &[]).await
    }

    async fn open(&self) -> Result<Postgres, StoreError> {
        Postgres::connect(&self.settings, &Registry::new()).await
    }

    async fn number(&self, sql: &str) -> i64 {
        let rows = self.database.query(sql).await;
        rows[0][0].as_deref().expect("a value").parse().expect("a number")
    }

    /// Fails the test unless nothing of an import is there.
    async fn untouched(&self) {
        assert_eq!(self.number("SELECT count(*) FROM users").await, 0);
        assert_eq!(self.number("SELECT count(*) FROM streams").await, 0);
        let noted = self.database.query("SELECT to_regclass('import_progress')").await;
        assert_eq!(noted[0][0], None);
    }
}

#[tokio::test]
async fn everything_arrives_as_it_was() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    let mut seen = Vec::new();
    load_in(&target.settings, &export, 100, &mut |progress| seen.push(progress)).await.expect("loaded");
    finish_import(&target.settings, &export, &[]).await.expect("finished");
    for (table, file) in export.tables() {
        assert!(file.rows > 0, "{} has nothing in this test", table.name);
        let compared = seen.iter().filter(|seen| seen.table == table.name && seen.step == Step::Compared);
        assert_eq!(compared.map(|seen| seen.rows).collect::<Vec<_>>(), [file.rows], "{}", table.name);
    }
    let batches = seen.iter().filter(|seen| seen.table == "events" && seen.step == Step::Loaded).count();
    assert_eq!(batches, 6, "598 events in batches of 100");

    // By other eyes than those of the import.
    let text = |sql: &'static str| async { target.database.query(sql).await[0][0].clone() };
    assert_eq!(
        text("SELECT display_name FROM users WHERE handle = 'user2'").await.as_deref(),
        Some("Ünï \"2\" \\u0000 😀\n\tof two lines")
    );
    assert_eq!(
        text("SELECT data FROM events WHERE seq = 5").await.as_deref(),
        Some(r#"{"body": "no. 2 \u00e4 \" \n 😀",  "n":1.50 }"#)
    );
    let kept = target
        .database
        .query(
            "SELECT locked_until = '2025-11-30 12:00:00.123456+00', disabled_at IS NULL FROM users WHERE handle = 'user2'",
        )
        .await;
    assert_eq!(kept[0], [Some("t".to_owned()), Some("t".to_owned())]);
    let waits =
        "SELECT count(*) FROM push_subscriptions WHERE next_at = 'infinity' AND not_before = '-infinity'";
    assert_eq!(target.number(waits).await, 1);
    assert_eq!(target.number("SELECT last_value FROM task_turn").await, 17);
    assert_eq!(target.number("SELECT max(epoch) FROM device_slots").await, 9_007_199_254_740_996);
    assert_eq!(target.number("SELECT revision FROM signing_manifest").await, 6);
    for left in ["tickets", "rate_buckets", "nodes"] {
        assert_eq!(target.number(&format!("SELECT count(*) FROM {left}")).await, 0, "{left}");
    }
    // What the migration puts there is still there.
    assert_eq!(target.number("SELECT count(*) FROM task_queue WHERE due_at = 'infinity'").await, 1000);
    assert_eq!(target.number("SELECT count(*) FROM task_workers").await, 2);

    let before = Sqlite::open(&source.file(), &Registry::new()).expect("a store").log_epoch().await;
    for _ in 0..2 {
        let store = target.open().await.expect("it may be served");
        assert_eq!(store.log_epoch().await.expect("an epoch"), *before.as_ref().expect("an epoch"));
    }
}

#[tokio::test]
async fn every_value_that_may_be_missing_is_tried_both_ways() {
    let source = Source::new();
    let connection = source.connection();
    let mut nullable = connection
        .prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE \"notnull\" = 0 AND pk = 0 AND hidden = 0")
        .expect("prepared");
    // One device, one row: what is null there is null in the other of two.
    for table in TABLES {
        let names = nullable.query_map([table.name], |row| row.get::<_, String>(0)).expect("columns");
        for name in names.map(|name| name.expect("a name")) {
            let both =
                format!("SELECT count(\"{name}\") > 0, count(*) > count(\"{name}\") FROM {}", table.name);
            let both: (bool, bool) =
                connection.query_row(&both, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("an answer");
            assert_eq!(both, (true, true), "{}.{name}", table.name);
        }
    }
}

/// Nothing of tomorrow is forgotten: what is in a schema is moved, or is known to be left behind.
#[tokio::test]
async fn every_table_and_column_of_both_databases_is_moved_or_left_behind() {
    let (source, target) = (Source::new(), Target::new().await);
    let ours = |with_derived: bool| {
        let moved = TABLES.iter().flat_map(|table| {
            table.columns.iter().map(|column| (table.name.to_owned(), column.name.to_owned()))
        });
        let derived = DERIVED.iter().map(|(table, column)| ((*table).to_owned(), (*column).to_owned()));
        moved.chain(derived.filter(|_| with_derived)).collect::<BTreeSet<_>>()
    };
    let left: BTreeSet<&str> = LEFT_BEHIND.iter().map(|(table, _)| *table).collect();

    let connection = source.connection();
    let mut listed = connection
        .prepare(
            "SELECT tables.name, columns.name FROM main.sqlite_schema AS tables, pragma_table_xinfo(tables.name) AS columns
             WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'",
        )
        .expect("prepared");
    let columns = listed.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("columns");
    let columns: BTreeSet<(String, String)> = columns.map(|column| column.expect("a column")).collect();
    let differ = |columns: BTreeSet<(String, String)>, ours: BTreeSet<(String, String)>| {
        let known = columns.into_iter().filter(|(table, _)| !left.contains(table.as_str()));
        known.collect::<BTreeSet<_>>().symmetric_difference(&ours).cloned().collect::<Vec<_>>()
    };
    assert_eq!(differ(columns, ours(true)), [], "SQLite: move them, or say why they stay");

    let columns = target
        .database
        .query(
            "SELECT table_name, column_name, data_type FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'
             UNION ALL SELECT sequence_name, 'turn', data_type FROM information_schema.sequences WHERE sequence_schema = 'public'",
        )
        .await;
    let text = |row: &[Option<String>], place: usize| row[place].clone().expect("a text");
    let named: BTreeSet<(String, String)> = columns.iter().map(|row| (text(row, 0), text(row, 1))).collect();
    assert_eq!(differ(named, ours(false)), [], "PostgreSQL: move them, or say why they stay");
    for row in &columns {
        let Some(table) = TABLES.iter().find(|table| table.name == text(row, 0)) else { continue };
        let column = table.columns.iter().find(|column| column.name == text(row, 1)).expect("seen above");
        let kind = match column.kind {
            Kind::Id => "uuid",
            Kind::Bytes => "bytea",
            Kind::Text => "text",
            Kind::Json => "json",
            Kind::Integer => "integer",
            Kind::Long => "bigint",
            Kind::Bool => "boolean",
            Kind::Time => "timestamp with time zone",
        };
        assert_eq!(text(row, 2), kind, "{}.{}", table.name, column.name);
    }
    // What a crash of PostgreSQL empties is left behind, or loaded anew by each run.
    let unlogged = "SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'";
    for row in target.database.query(unlogged).await {
        let table = TABLES.iter().find(|table| table.name == text(&row, 0));
        assert!(table.is_none_or(|table| table.rows == Rows::Unlogged), "{row:?}");
    }
}

/// The page for people names what does not come along.
#[test]
fn what_is_left_behind_is_documented() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedded.md"));
    for (table, why) in LEFT_BEHIND {
        assert!(page.contains(&format!("`{table}`")), "{table}: {why}");
    }
}

#[tokio::test]
async fn what_is_written_after_the_snapshot_is_not_in_it() {
    let source = Source::new();
    let dir = source.folder.path().join("export");
    fs::create_dir(&dir).expect("a folder");
    let writer = source.connection();
    let mut wrote = false;
    let circumstances = Circumstances { release: "0.1.0".into(), served: true };
    // After the first table, which is that of users.
    let manifest = export(&source.file(), &dir, &circumstances, &mut move |_| {
        if !std::mem::replace(&mut wrote, true) {
            writer
                .execute_batch("DELETE FROM reactions; UPDATE streams SET head = 601 WHERE head = 600")
                .expect("written");
        }
    });
    let manifest = manifest.expect("exported");
    assert!(manifest.served);
    let rows = |name: &str| manifest.tables.iter().find(|table| table.name == name).map(|table| table.rows);
    assert_eq!(rows("reactions"), Some(4));
    let streams = fs::read_to_string(dir.join("streams.ndjson")).expect("a file");
    assert!(streams.contains("\"head\":600") && !streams.contains("\"head\":601"), "{streams}");
    assert_eq!(source.rows("reactions"), 0);
}

#[test]
fn after_the_machine_went_down_clients_refetch() {
    let source = Source::new();
    let before = source.export("before").manifest().clone();
    fs::write(source.folder.path().join("switchboard.db.boot"), "another boot").expect("written");
    let after = source.export("after").manifest().clone();
    assert!(!before.cut_short && after.cut_short);
    assert_ne!(before.log_epoch, after.log_epoch);
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_an_export() {
    use std::os::unix::fs::PermissionsExt;

    let source = Source::new();
    let export = source.export("export");
    for file in fs::read_dir(export.dir()).expect("a folder") {
        let file = file.expect("an entry");
        let mode = file.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
    }
}
