//! What was loaded, read again: the same lines in the same order have the same SHA-256.

use std::pin::pin;
use std::time::Instant;

use futures_util::TryStreamExt as _;
use sha2::{Digest, Sha256};
use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyOutStream;

use super::values;
use crate::error::StoreError;
use crate::postgres::sqlstate::statement_fault;
use crate::transfer::line::{self, Value};
use crate::transfer::manifest::{TableFile, hex};
use crate::transfer::tables::Table;
use crate::transfer::{Progress, Step, TransferError, Watcher};

/// Refuses a table that is not what was exported.
pub(super) async fn compare(
    client: &Client,
    table: &'static Table,
    file: &TableFile,
    watcher: Watcher<'_>,
) -> Result<(), TransferError> {
    let began = Instant::now();
    let (rows, sha256) = read(client, table).await?;
    if (rows, &sha256) != (file.rows, &file.sha256) {
        return Err(TransferError::Refused(format!(
            "{}: {rows} rows were read from the database, {} were exported, and they are not the same; somebody wrote meanwhile, or this is a \
             fault: begin again with a new database",
            table.name, file.rows
        )));
    }
    watcher(Progress {
        step: Step::Compared,
        table: table.name,
        rows,
        of: rows,
        here: rows,
        took: began.elapsed(),
    });
    Ok(())
}

/// Number and SHA-256 of the lines of a table.
async fn read(client: &Client, table: &Table) -> Result<(u64, String), TransferError> {
    let failed = |error: tokio_postgres::Error| StoreError::from(statement_fault(table.name, &error).0);
    let sql = format!("COPY ({}) TO STDOUT (FORMAT binary)", table.of_postgres());
    let out = client.copy_out(&sql).await.map_err(failed)?;
    let mut out = pin!(BinaryCopyOutStream::new(out, &values::types(table)));
    let (mut rows, mut digest, mut line) = (0, Sha256::new(), Vec::new());
    while let Some(row) = out.try_next().await.map_err(failed)? {
        let values = (0..table.columns.len()).map(|place| row.try_get(place));
        let values: Vec<Value> = values.collect::<Result<_, _>>().map_err(failed)?;
        line.clear();
        line::write(table, &values, &mut line).map_err(TransferError::Refused)?;
        digest.update(&line);
        rows += 1;
    }
    Ok((rows, hex(&digest.finalize())))
}
