//! A transaction, as a job sees it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::{CachedStatement, Connection, Row, ToSql, Transaction, TransactionBehavior};

use super::fault::{Fault, sqlite_error};
use super::metrics::Metrics;
use super::statement::Statement;
use super::value::checked;
use crate::number::micros;

/// Parameters of a statement: `?1`, `?2` and so on.
pub(super) type Params<'a> = &'a [&'a dyn ToSql];

/// An open transaction.
pub(super) struct Tx<'c> {
    connection: &'c Connection,
    metrics: &'c Metrics,
    now: Timestamp,
}

/// Runs a job as a transaction: committed when it answers well, undone when it does not or panics.
pub(super) fn transact<T>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    metrics: &Metrics,
    job: impl FnOnce(&Tx<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let failed = |what| move |error: rusqlite::Error| Fault::from(sqlite_error(what, &error));
    // Dropped, it is rolled back.
    let transaction: Transaction<'_> =
        connection.transaction_with_behavior(behavior).map_err(failed("begin"))?;
    let done = job(&Tx { connection: &transaction, metrics, now: now() })?;
    transaction.commit().map_err(failed("commit"))?;
    Ok(done)
}

/// The time, as exact as it is kept: what is written compares equal to what is read.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
}

impl Tx<'_> {
    /// The time, read once at the begin of the transaction.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// [`Self::now`] as a parameter.
    pub(super) fn micros(&self) -> i64 {
        self.now.as_microsecond()
    }

    /// The time so long from now, as a parameter.
    pub(super) fn after(&self, duration: Duration) -> i64 {
        self.micros() + micros(duration)
    }

    /// The time so long ago, as a parameter.
    pub(super) fn before(&self, duration: Duration) -> i64 {
        self.micros() - micros(duration)
    }

    /// Runs a statement that gives no rows; of how many rows it wrote.
    pub(super) fn execute(&self, statement: &'static Statement, params: Params<'_>) -> Result<usize, Fault> {
        self.run(statement, params, |prepared| {
            prepared.raw_execute().map_err(|error| fault(statement, &error))
        })
    }

    /// Runs a statement and reads its rows.
    pub(super) fn rows<T>(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.run(statement, params, |prepared| {
            let (mut rows, mut found) = (prepared.raw_query(), Vec::new());
            while let Some(row) = rows.next().map_err(|error| fault(statement, &error))? {
                found.push(read(row)?);
            }
            Ok(found)
        })
    }

    /// Like [`Self::rows`], for statements that give one row or none.
    pub(super) fn row<T>(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
        read: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        self.run(statement, params, |prepared| {
            let mut rows = prepared.raw_query();
            rows.next().map_err(|error| fault(statement, &error))?.map(read).transpose()
        })
    }

    /// Whether a statement gives a row.
    pub(super) fn exists(&self, statement: &'static Statement, params: Params<'_>) -> Result<bool, Fault> {
        Ok(self.row(statement, params, |_| Ok(()))?.is_some())
    }

    fn run<T>(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
        work: impl FnOnce(&mut CachedStatement<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let began = Instant::now();
        let done = self.bound(statement, params).and_then(|mut prepared| work(&mut prepared));
        self.metrics.statement(statement, began);
        done
    }

    fn bound(&self, statement: &'static Statement, params: Params<'_>) -> Result<CachedStatement<'_>, Fault> {
        let mut prepared =
            self.connection.prepare_cached(statement.sql).map_err(|error| fault(statement, &error))?;
        if prepared.parameter_count() != params.len() {
            return Err(Fault::internal(format!(
                "{} takes {} parameters and was given {}",
                statement.name,
                prepared.parameter_count(),
                params.len()
            )));
        }
        for (place, param) in params.iter().enumerate() {
            prepared
                .raw_bind_parameter(place + 1, checked(*param)?)
                .map_err(|error| fault(statement, &error))?;
        }
        Ok(prepared)
    }
}

fn fault(statement: &Statement, error: &rusqlite::Error) -> Fault {
    sqlite_error(statement.name, error).into()
}
