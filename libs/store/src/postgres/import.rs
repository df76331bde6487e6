//! Everything from an export into a migrated, empty database: the half of [`crate::transfer`] that writes.
//!
//! One import at a time holds the lock that migrators take, too. Each batch of rows is a transaction together with the note of it in
//! `import_progress`, so whoever imports may die anywhere, and be run again. While that table is there, no node starts: it would serve a half. In the
//! end it is renamed to `import_ended`, and says which export it was.
//!
//! [`load`] puts the rows in and compares; [`finish`] adds what makes it a database to be served: signing keys that came as files, and the epoch of
//! the log, so that cursors of clients stay good. Both may be repeated.
//!
//! COPY has no parameters for names. Its statements, like those that read a table back, are made of the list in [`crate::transfer::tables`].

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;

use crate::error::StoreError;
use crate::number::micros;
use crate::postgres::connect::Connector;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::schema::{self, LOCK_TIMEOUT, on_connection, run};
use crate::postgres::settings::DatabaseSettings;
use crate::postgres::sqlstate::{Fault, statement_fault};
use crate::postgres::statement::statements;
use crate::signing_keys::SealedKey;
use crate::transfer::line::Value;
use crate::transfer::manifest::TableFile;
use crate::transfer::tables::{Rows, TABLES, Table};
use crate::transfer::{Export, Progress, Step, TransferError, Watcher};

mod compare;
mod lines;
mod values;

use lines::Lines;

statements! {
    CREATE = "import/create";
    BEGIN = "import/begin";
    PROGRESS = "import/progress";
    LOADED = "import/loaded";
    RESTART = "import/restart";
    COMPARED = "import/compared";
    NODES = "import/nodes";
    TURN = "import/turn";
    EPOCH = "import/epoch";
    CLEAR_KEYS = "import/clear_keys";
    ADD_KEY = "import/add_key";
    KEYS_LISTED = "import/keys_listed";
    END = "import/end";
    ENDED = "import/ended";
}

/// Rows of a batch.
const BATCH: usize = 10_000;
/// How long an import that was killed may hold the lock: until the server has heard of its end.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);

/// Whether there was anything to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// It is all there now, to be finished.
    Now,
    /// An import of the same export has ended in this database before.
    Before,
}

/// What is noted of a table.
struct Noted {
    export: Vec<u8>,
    rows: u64,
    bytes: u64,
    compared: bool,
}

/// Puts the rows of an export into the database of these settings, whose user owns the tables, and compares what is there then with what was
/// exported. It goes on where an import of the same export was cut off.
///
/// # Errors
///
/// `Refused` when the files are not what was exported, the database is not at the migration of the export, holds anything of its own, or nodes work
/// on it; also when what was loaded is something else in the end. `Store` when the database is lost: run it again.
pub async fn load(
    settings: &DatabaseSettings,
    export: &Export,
    watcher: Watcher<'_>,
) -> Result<Loaded, TransferError> {
    load_in(settings, export, BATCH, watcher).await
}

pub(crate) async fn load_in(
    settings: &DatabaseSettings,
    export: &Export,
    batch: usize,
    watcher: Watcher<'_>,
) -> Result<Loaded, TransferError> {
    // Before anything is written.
    let files = export.clone();
    let checked = tokio::task::spawn_blocking(move || files.check()).await;
    checked.map_err(|error| StoreError::Internal(error.to_string()))??;
    on_connection(&connector(settings)?, async |client: &Client| {
        lock(client).await?;
        if has_ended(client, export).await? {
            return Ok(Loaded::Before);
        }
        let noted = begin(client, export).await?;
        for ((table, file), noted) in export.tables().zip(&noted) {
            load_table(client, export, (table, file), noted, batch, watcher).await?;
        }
        for ((table, file), noted) in export.tables().zip(&noted) {
            if noted.compared && table.rows != Rows::Unlogged {
                continue;
            }
            compare::compare(client, table, file, watcher).await?;
            run(client, COMPARED, &[&table.name]).await?;
        }
        // Nodes plan by what is counted here, from their first statement on.
        tell(client, "ANALYZE").await?;
        Ok(Loaded::Now)
    })
    .await
}

/// Makes the database one to be served. `keys` are the signing keys that came as files and are to be in the database; none where they stay files,
/// or were in the exported database already.
///
/// # Errors
///
/// `Refused` when the rows of this export were not all loaded. `Store` when the database is lost: run it again from the beginning.
pub async fn finish(
    settings: &DatabaseSettings,
    export: &Export,
    keys: &[SealedKey],
) -> Result<(), TransferError> {
    on_connection(&connector(settings)?, async |client: &Client| {
        lock(client).await?;
        // Two were at it, and the other one was sooner.
        if has_ended(client, export).await? {
            return Ok(());
        }
        let noted = progress(client, export).await?;
        if noted.is_none_or(|noted| noted.iter().any(|noted| !noted.compared)) {
            return Err(refused("not everything is loaded: run the import from its beginning"));
        }
        nobody_works_here(client).await?;
        tell(client, "BEGIN").await?;
        if !keys.is_empty() {
            put_keys(client, keys).await?;
        }
        run(client, EPOCH, &[&export.manifest().log_epoch.0]).await?;
        run(client, END, &[]).await?;
        tell(client, "COMMIT").await
    })
    .await
}

fn connector(settings: &DatabaseSettings) -> Result<Connector, StoreError> {
    Ok(Connector::new(settings, "import")?
        .with_session_setting("statement_timeout", "0")
        .with_session_setting("lock_timeout", LOCK_TIMEOUT)
        .with_session_setting("default_transaction_isolation", "read committed"))
}

/// Nobody else imports or migrates from here on.
async fn lock(client: &Client) -> Result<(), TransferError> {
    let began = Instant::now();
    while !schema::try_lock(client).await? {
        if began.elapsed() > LOCK_PATIENCE {
            return Err(refused(
                "another process imports into this database, or migrates it: wait for its end",
            ));
        }
        tokio::time::sleep(schema::LOCK_INTERVAL).await;
    }
    Ok(())
}

/// Whether an import of this export has ended here. Of another one, also of an earlier one of the same database, it is not said.
async fn has_ended(client: &Client, export: &Export) -> Result<bool, TransferError> {
    if schema::importing(client).await? || !schema::imported(client).await? {
        return Ok(false);
    }
    let rows = run(client, ENDED, &[]).await?;
    let ended = rows.iter().map(|row| row.value::<Vec<u8>>("export")).collect::<Result<Vec<_>, Fault>>();
    Ok(ended.map_err(StoreError::from)?.contains(&export.digest().to_vec()))
}

/// What was loaded before; of a database that has nothing of this or any other import, and nothing of its own, an import is begun.
async fn begin(client: &Client, export: &Export) -> Result<Vec<Noted>, TransferError> {
    let version = schema::standing(client).await?;
    if version.database != version.binary {
        return Err(refused(format!(
            "the database is at migration {:04}, the export at {:04}: run `switchboard migrate` of this release on it first",
            version.database, version.binary
        )));
    }
    nobody_works_here(client).await?;
    if progress(client, export).await?.is_none() {
        holds_nothing(client).await?;
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        tell(client, "BEGIN").await?;
        tell(client, "DROP TABLE IF EXISTS import_ended").await?;
        run(client, CREATE, &[]).await?;
        run(client, BEGIN, &[&names, &export.digest()]).await?;
        tell(client, "COMMIT").await?;
    }
    // A crash of the database has emptied them, and their notes do not tell.
    for table in TABLES.iter().filter(|table| table.rows == Rows::Unlogged) {
        tell(client, "BEGIN").await?;
        tell(client, &format!("TRUNCATE \"{}\"", table.name)).await?;
        run(client, RESTART, &[&table.name]).await?;
        tell(client, "COMMIT").await?;
    }
    let noted = progress(client, export).await?;
    noted.ok_or_else(|| refused("somebody has removed the notes of this import (import_progress)"))
}

/// What is noted of this export, table by table; none when no import is under way.
async fn progress(client: &Client, export: &Export) -> Result<Option<Vec<Noted>>, TransferError> {
    if !schema::importing(client).await? {
        return Ok(None);
    }
    let rows = run(client, PROGRESS, &[]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Noted {
            export: row.value("export")?,
            rows: row.count("rows")?,
            bytes: row.count("bytes")?,
            compared: row.value("compared")?,
        })
    };
    let noted: Vec<Noted> = rows.iter().map(read).collect::<Result<_, Fault>>().map_err(StoreError::from)?;
    if noted.iter().any(|noted| noted.export != export.digest()) {
        return Err(refused(
            "the import of another export is under way in this database: end that one, or begin again with a new database",
        ));
    }
    Ok(Some(noted))
}

/// Nodes would write beside the import, and hold positions of a log that is replaced under them.
async fn nobody_works_here(client: &Client) -> Result<(), TransferError> {
    let rows = run(client, NODES, &[]).await?;
    let nodes: Vec<&str> =
        rows.iter().map(|row| row.value("node")).collect::<Result<_, Fault>>().map_err(StoreError::from)?;
    if nodes.is_empty() {
        return Ok(());
    }
    Err(refused(format!(
        "nodes work on this database ({}): stop them first; one that was killed is forgotten after a minute",
        nodes.join(", ")
    )))
}

async fn holds_nothing(client: &Client) -> Result<(), TransferError> {
    let mut held = Vec::new();
    for table in TABLES.iter().filter(|table| table.rows != Rows::Sequence) {
        let sql = table.any_of_postgres();
        let found = client.query_one(&sql, &[]).await;
        let found = found.map_err(|error| StoreError::from(statement_fault(table.name, &error).0))?;
        if found.try_get(0).unwrap_or(true) {
            held.push(table.name);
        }
    }
    if held.is_empty() {
        return Ok(());
    }
    Err(refused(format!(
        "the database holds something of its own already ({}), which an import does not mix with what it brings: give it a new database, \
         migrated and never served",
        held.join(", ")
    )))
}

async fn load_table(
    client: &Client,
    export: &Export,
    (table, file): (&'static Table, &TableFile),
    before: &Noted,
    batch: usize,
    watcher: Watcher<'_>,
) -> Result<(), TransferError> {
    let began = Instant::now();
    let (mut rows, mut bytes) = (before.rows, before.bytes);
    let mut lines = Lines::open(table, export.dir().join(table.file()), bytes)?;
    while rows < file.rows {
        let (rest, given) = lines.next(batch).await?;
        lines = rest;
        tell(client, "BEGIN").await?;
        if table.rows == Rows::Replacing && bytes == 0 {
            tell(client, &format!("DELETE FROM \"{}\"", table.name)).await?;
        }
        put(client, table, &given.rows).await?;
        let (more, length) = (rows + given.rows.len() as u64, bytes + given.bytes);
        let noted = [bigint(more), bigint(length), bigint(bytes)];
        let noted = run(client, LOADED, &[&table.name, &noted[0], &noted[1], &noted[2]]).await?;
        if noted.len() != 1 {
            return Err(StoreError::Internal(format!("{} is loaded by somebody else", table.name)).into());
        }
        tell(client, "COMMIT").await?;
        (rows, bytes) = (more, length);
        watcher(Progress {
            step: Step::Loaded,
            table: table.name,
            rows,
            of: file.rows,
            here: rows - before.rows,
            took: began.elapsed(),
        });
    }
    Ok(())
}

/// Puts rows into a table, within a transaction.
async fn put(client: &Client, table: &Table, rows: &[Vec<Value>]) -> Result<(), TransferError> {
    let failed = |error: tokio_postgres::Error| StoreError::from(statement_fault(table.name, &error).0);
    if table.rows == Rows::Sequence {
        for value in rows.iter().flatten() {
            run(client, TURN, &[value]).await?;
        }
        return Ok(());
    }
    let types = values::types(table);
    let sql = format!("COPY \"{}\" ({}) FROM STDIN (FORMAT binary)", table.name, table.listed());
    let sink = client.copy_in(&sql).await.map_err(failed)?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    for row in rows {
        writer.as_mut().write_raw(row).await.map_err(failed)?;
    }
    writer.finish().await.map_err(failed)?;
    Ok(())
}

/// Replaces the signing keys, within a transaction.
async fn put_keys(client: &Client, keys: &[SealedKey]) -> Result<(), TransferError> {
    run(client, CLEAR_KEYS, &[]).await?;
    for SealedKey { key, sealed } in keys {
        let life = micros(key.token_life);
        run(
            client,
            ADD_KEY,
            &[
                &key.kid,
                &key.created_at,
                &key.signs_from,
                &key.withdrawn,
                &key.retired_at,
                &life,
                &key.made_by,
                sealed,
            ],
        )
        .await?;
    }
    run(client, KEYS_LISTED, &[]).await?;
    Ok(())
}

/// Runs what has no parameters and gives no rows.
async fn tell(client: &Client, sql: &str) -> Result<(), TransferError> {
    let told = client.batch_execute(sql).await;
    told.map_err(|error| StoreError::from(statement_fault("import", &error).0).into())
}

fn refused(why: impl Into<String>) -> TransferError {
    TransferError::Refused(why.into())
}
