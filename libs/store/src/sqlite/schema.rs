//! Migrations: `migrations/sqlite/NNNN_verb_noun.sql`, built into the binary.
//!
//! The process that opens the file migrates it: nobody else is served from it. Each migration is a transaction together with the row that
//! notes it, so the process may die anywhere. Before an older database is changed a copy of it is kept, since no release goes back.

use std::path::{Path, PathBuf};

use domain::LogEpoch;
use jiff::Timestamp;
use rusqlite::{Connection, Row, ToSql, TransactionBehavior};
use uuid::Uuid;

use super::fault::{Fault, sqlite_error};
use super::open;
use super::row::Columns;
use super::statement::{Statement, statements};
use crate::error::StoreError;
use crate::migration::{Migration, Noted, check_history, migrations};

statements! {
    EXISTS = "schema/exists";
    ANY = "schema/any";
    CREATE = "schema/create";
    APPLIED = "schema/applied";
    RECORD = "schema/record";
    FOUND = "schema/found";
}

migrations! {
    1 "create_people" "sqlite/0001_create_people.sql";
    2 "create_log" "sqlite/0002_create_log.sql";
    3 "create_agents" "sqlite/0003_create_agents.sql";
    4 "create_runs" "sqlite/0004_create_runs.sql";
    5 "create_tasks" "sqlite/0005_create_tasks.sql";
    6 "create_presence" "sqlite/0006_create_presence.sql";
    7 "create_notifications" "sqlite/0007_create_notifications.sql";
    8 "add_expiry_to_tickets" "sqlite/0008_add_expiry_to_tickets.sql";
    9 "create_signing_keys" "sqlite/0009_create_signing_keys.sql";
    10 "add_trace_to_task_queue" "sqlite/0010_add_trace_to_task_queue.sql";
    11 "add_stage_to_task_queue" "sqlite/0011_add_stage_to_task_queue.sql";
}

/// Brings a database up to these migrations. One that is newer, or was migrated by others, is refused as it is.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    known: &[Migration],
) -> Result<(), StoreError> {
    let noted = applied(connection)?;
    check_history(&noted, known)?;
    let lacking = known.get(noted.len()..).unwrap_or_default();
    if let Some(first) = lacking.first().filter(|_| !noted.is_empty()) {
        let copy = keep_copy(connection, path, first)?;
        tracing::info!(copy = %copy.display(), "kept a copy of the database before it is migrated");
    }
    for migration in lacking {
        apply(connection, migration)?;
        tracing::info!(migration = migration.label(), "applied");
    }
    // Only a database that is opened for the first time has no epoch; a file that is copied takes its epoch along.
    execute(connection, FOUND, &[&LogEpoch::new().0, &Uuid::new_v4().to_string()])
}

/// For a process beside the one that serves: whether the database is just as this binary would have it.
pub(super) fn check(connection: &Connection, known: &[Migration]) -> Result<(), StoreError> {
    let noted = applied(connection)?;
    check_history(&noted, known)?;
    if noted.len() < known.len() {
        return Err(StoreError::Schema(format!(
            "the embedded database has migration {}, this release needs {}: start `switchboard` of this release on it",
            noted.len(),
            known.len()
        )));
    }
    Ok(())
}

/// How many migrations a database has.
pub(super) fn count(connection: &Connection) -> Result<usize, StoreError> {
    applied(connection).map(|noted| noted.len())
}

fn applied(connection: &Connection) -> Result<Vec<Noted>, StoreError> {
    if rows(connection, EXISTS, |_| Ok(()))?.is_empty() {
        return match rows(connection, ANY, |row| row.value::<String>("name"))?.first() {
            None => Ok(Vec::new()),
            Some(table) => Err(StoreError::Schema(format!(
                "the file is a database of something else (it has a table {table}): name another one (embedded.file)"
            ))),
        };
    }
    rows(connection, APPLIED, |row| {
        let version: i64 = row.value("version")?;
        Ok(Noted {
            version: u32::try_from(version).map_err(|_| Fault::internal("a migration below zero"))?,
            name: row.value("name")?,
            checksum: row.value("checksum")?,
        })
    })
}

fn apply(connection: &mut Connection, migration: &Migration) -> Result<(), StoreError> {
    let label = migration.label();
    let fault = |error: rusqlite::Error| sqlite_error(&label, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    execute(&transaction, CREATE, &[])?;
    transaction.execute_batch(migration.sql).map_err(fault)?;
    let now = Timestamp::now().as_microsecond();
    execute(&transaction, RECORD, &[&migration.version, &migration.name, &migration.checksum(), &now])?;
    transaction.commit().map_err(fault)
}

/// Copies the database beside itself, first under another name: what is called a copy is whole.
fn keep_copy(connection: &Connection, path: &Path, before: &Migration) -> Result<PathBuf, StoreError> {
    let copy = beside(path, &format!(".before-{:04}", before.version));
    let unfinished = beside(&copy, ".part");
    let failed = |error: std::io::Error| StoreError::Unavailable(format!("{}: {error}", copy.display()));
    match std::fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // Its owner alone can read it, as the original.
    open::create(&unfinished)?;
    connection
        .backup(rusqlite::MAIN_DB, &unfinished, None::<fn(rusqlite::backup::Progress)>)
        .map_err(|error| sqlite_error("copy of the database", &error))?;
    std::fs::rename(&unfinished, &copy).map_err(failed)?;
    Ok(copy)
}

/// A path with something after its file name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn execute(connection: &Connection, statement: &Statement, params: &[&dyn ToSql]) -> Result<(), StoreError> {
    connection.execute(statement.sql, params).map(drop).map_err(|error| sqlite_error(statement.name, &error))
}

fn rows<T>(
    connection: &Connection,
    statement: &Statement,
    read: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, StoreError> {
    let failed = |error: rusqlite::Error| sqlite_error(statement.name, &error);
    let mut prepared = connection.prepare(statement.sql).map_err(failed)?;
    let mut rows = prepared.query([]).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        found.push(read(row)?);
    }
    Ok(found)
}
