//! The file of a table, read in batches.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use crate::error::StoreError;
use crate::transfer::TransferError;
use crate::transfer::line::{self, Value};
use crate::transfer::tables::Table;

/// A batch ends with the row that makes it as large as this, whatever its number of rows.
const BATCH_BYTES: u64 = 8 << 20;

/// What is left of a file.
pub(super) struct Lines {
    table: &'static Table,
    path: PathBuf,
    file: BufReader<File>,
}

/// Rows of a file, and how much of it they take.
pub(super) struct Batch {
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) bytes: u64,
}

impl Lines {
    /// The file from this byte on, where a line begins.
    pub(super) fn open(table: &'static Table, path: PathBuf, from: u64) -> Result<Self, TransferError> {
        let open = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(from))?;
            Ok(BufReader::with_capacity(1 << 20, file))
        };
        let file = open().map_err(TransferError::file(&path))?;
        Ok(Self { table, path, file })
    }

    /// The next rows, at most so many and at least one.
    pub(super) async fn next(mut self, most: usize) -> Result<(Self, Batch), TransferError> {
        let reading = tokio::task::spawn_blocking(move || {
            let batch = self.read(most)?;
            Ok((self, batch))
        });
        reading.await.map_err(|error| StoreError::Internal(error.to_string()))?
    }

    fn read(&mut self, most: usize) -> Result<Batch, TransferError> {
        let (mut batch, mut line) = (Batch { rows: Vec::new(), bytes: 0 }, Vec::new());
        while batch.rows.len() < most && batch.bytes < BATCH_BYTES {
            line.clear();
            let length = self.file.read_until(b'\n', &mut line).map_err(TransferError::file(&self.path))?;
            if length == 0 {
                break;
            }
            let row = line::read(self.table, &line).map_err(TransferError::Refused)?;
            batch.rows.push(row);
            batch.bytes += length as u64;
        }
        if batch.rows.is_empty() {
            let shown = self.path.display();
            return Err(TransferError::Refused(format!(
                "{shown} has fewer rows than its manifest says: export again"
            )));
        }
        Ok(batch)
    }
}
