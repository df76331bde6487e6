//! Everything into a folder, to be taken to PostgreSQL: the half of [`crate::transfer`] that reads.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use domain::LogEpoch;
use jiff::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, TransactionBehavior};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::fault::sqlite_error;
use super::statement::statements;
use super::{open, power, schema};
use crate::transfer::line::{self, Value};
use crate::transfer::manifest::{FORMAT, Manifest, TableFile, hex, new_file, other_files};
use crate::transfer::tables::{Column, Kind, TABLES, Table};
use crate::transfer::{Progress, Step, TransferError, Watcher};

statements! {
    EPOCH = "export/epoch";
}

/// How an export was made, for its manifest.
#[derive(Debug, Clone)]
pub struct Circumstances {
    /// The release that exports.
    pub release: String,
    /// Whether a process serves the database meanwhile.
    pub served: bool,
}

/// Writes everything that the database in `file` holds into `dir`, as it stands at one moment, whoever writes meanwhile. The folder is there, and
/// has nothing but folders with what else is to be taken along. The manifest comes last: with it the export is whole, and lies on the disk.
///
/// This reads and writes files, and takes as long as the database is large.
///
/// # Errors
///
/// `Store` when the database can't be read, or is not just as this binary would have it; `Refused` when a row can't be moved; `File`.
pub fn export(
    file: &Path,
    dir: &Path,
    circumstances: &Circumstances,
    watcher: Watcher<'_>,
) -> Result<Manifest, TransferError> {
    let mut connection = open::reader(file)?;
    let begun = connection
        .transaction_with_behavior(TransactionBehavior::Deferred)
        .map_err(|error| sqlite_error("begin", &error))?;
    // The first look is where the snapshot is taken.
    schema::check(&begun, schema::MIGRATIONS)?;
    let exported_at = Timestamp::now();
    let log_epoch: Uuid =
        begun.query_row(EPOCH.sql, [], |row| row.get(0)).map_err(|error| sqlite_error(EPOCH.name, &error))?;
    // Numbers that the machine may have lost would be handed out again in the old one: as the next start would do, another is begun.
    let cut_short = power::is_cut_short(file)?;
    let log_epoch = if cut_short { LogEpoch::new() } else { LogEpoch(log_epoch) };
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        tables.push(write(&begun, table, dir, watcher)?);
    }
    drop(begun);
    let manifest = Manifest {
        format: FORMAT,
        release: circumstances.release.clone(),
        migration: schema::MIGRATIONS.last().map_or(0, |migration| migration.version),
        exported_at,
        served: circumstances.served,
        cut_short,
        log_epoch,
        tables,
        files: other_files(dir)?,
    };
    manifest.write(dir)?;
    Ok(manifest)
}

/// Writes the file of a table.
fn write(
    connection: &Connection,
    table: &'static Table,
    dir: &Path,
    watcher: Watcher<'_>,
) -> Result<TableFile, TransferError> {
    let began = Instant::now();
    let path = dir.join(table.file());
    let mut out = Out::new(new_file(&path).map_err(TransferError::file(&path))?);
    let failed = |error: rusqlite::Error| sqlite_error(table.name, &error);
    let mut statement = connection.prepare(&table.of_sqlite()).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let row = values(table, row).map_err(|why| refused(table, out.rows, &why))?;
        out.line.clear();
        line::write(table, &row, &mut out.line).map_err(|why| refused(table, out.rows, &why))?;
        out.keep().map_err(TransferError::file(&path))?;
    }
    let written = out.finish(table).map_err(TransferError::file(&path))?;
    let (rows, took) = (written.rows, began.elapsed());
    watcher(Progress { step: Step::Written, table: table.name, rows, of: rows, here: rows, took });
    Ok(written)
}

fn refused(table: &Table, rows: u64, why: &str) -> TransferError {
    TransferError::Refused(format!("row {} of {} can't be moved: {why}", rows + 1, table.name))
}

/// A file that is written, with what the manifest says of it.
struct Out {
    file: BufWriter<File>,
    line: Vec<u8>,
    digest: Sha256,
    rows: u64,
    bytes: u64,
}

impl Out {
    fn new(file: File) -> Self {
        let file = BufWriter::with_capacity(1 << 20, file);
        Self { file, line: Vec::new(), digest: Sha256::new(), rows: 0, bytes: 0 }
    }

    fn keep(&mut self) -> std::io::Result<()> {
        self.digest.update(&self.line);
        self.rows += 1;
        self.bytes += self.line.len() as u64;
        self.file.write_all(&self.line)
    }

    fn finish(self, table: &Table) -> std::io::Result<TableFile> {
        self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        let sha256 = hex(&self.digest.finalize());
        Ok(TableFile { name: table.name.to_owned(), rows: self.rows, bytes: self.bytes, sha256 })
    }
}

/// The values of a row. What is wrong is told without the value.
fn values(table: &Table, row: &Row<'_>) -> Result<Vec<Value>, String> {
    let read = |(place, column): (usize, &Column)| {
        let kept = row.get_ref(place).map_err(|error| error.to_string())?;
        value(column.kind, kept)
            .ok_or_else(|| format!("{} is {}, which is not what it must be", column.name, kept.data_type()))
    };
    table.columns.iter().enumerate().map(read).collect()
}

fn value(kind: Kind, kept: ValueRef<'_>) -> Option<Value> {
    match (kind, kept) {
        (_, ValueRef::Null) => Some(Value::Null),
        (Kind::Id, ValueRef::Blob(bytes)) => Uuid::from_slice(bytes).ok().map(Value::Id),
        (Kind::Bytes, ValueRef::Blob(bytes)) => Some(Value::Bytes(bytes.to_vec())),
        (Kind::Text | Kind::Json, ValueRef::Text(text)) => {
            std::str::from_utf8(text).ok().map(|text| Value::Text(text.to_owned()))
        }
        (Kind::Integer, ValueRef::Integer(number)) => {
            i32::try_from(number).ok().map(|number| Value::Number(number.into()))
        }
        (Kind::Long, ValueRef::Integer(number)) => Some(Value::Number(number)),
        (Kind::Bool, ValueRef::Integer(number @ (0 | 1))) => Some(Value::Bool(number == 1)),
        (Kind::Time, ValueRef::Integer(micros)) => Some(Value::Time(micros)),
        _ => None,
    }
}
