//! What the store tells of its work with PostgreSQL.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, Registry};

use crate::error::StoreError;
use crate::postgres::statement::{self, Statement};

/// From a tenth of a millisecond, where a healthy statement lies, to the statement timeout.
const BUCKETS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub(super) struct Metrics {
    statements: HashMap<&'static str, Histogram>,
    pool_wait: Histogram,
    abandoned: IntCounter,
    denied: IntCounter,
}

impl Metrics {
    pub(super) fn register(registry: &Registry) -> Result<Self, StoreError> {
        Self::build(registry).map_err(|error| StoreError::Internal(format!("metrics of the store: {error}")))
    }

    fn build(registry: &Registry) -> prometheus::Result<Self> {
        let options = |name, help| HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
        let seconds = HistogramVec::new(
            options(
                "switchboard_db_statement_seconds",
                "Time from sending a statement to its last row, waiting behind others in its pipeline included",
            ),
            &["statement"],
        )?;
        let pool_wait = Histogram::with_opts(options(
            "switchboard_db_pool_wait_seconds",
            "Time a call waited for a connection of the pool",
        ))?;
        let abandoned = IntCounter::new(
            "switchboard_db_statements_abandoned_total",
            "Connections closed, and their statement cancelled, because the caller went away meanwhile",
        )?;
        let denied = IntCounter::new(
            "switchboard_db_statements_denied_total",
            "Statements that the database refused because its user lacks a right",
        )?;
        registry.register(Box::new(denied.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(pool_wait.clone()))?;
        registry.register(Box::new(abandoned.clone()))?;
        let statements = statement::all()
            .map(|statement| (statement.name, seconds.with_label_values(&[statement.name])))
            .collect();
        Ok(Self { statements, pool_wait, abandoned, denied })
    }

    pub(super) fn statement(&self, statement: &Statement, since: Instant) {
        if let Some(histogram) = self.statements.get(statement.name) {
            histogram.observe(since.elapsed().as_secs_f64());
        }
    }

    pub(super) fn pool_wait(&self, waited: Duration) {
        self.pool_wait.observe(waited.as_secs_f64());
    }

    pub(super) fn denied(&self) {
        self.denied.inc();
    }

    pub(super) fn abandoned(&self) {
        self.abandoned.inc();
    }
}
