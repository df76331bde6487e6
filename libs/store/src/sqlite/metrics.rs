//! What the store tells of its work with SQLite: by the names that it has with PostgreSQL, so that what is watched is watched with either.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use prometheus::{Histogram, HistogramOpts, HistogramVec, Registry};

use super::statement::{self, Statement};
use crate::error::StoreError;

/// From ten microseconds, where a healthy statement lies, to what nobody waits for.
const BUCKETS: &[f64] = &[
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 2.5, 5.0, 10.0,
];

pub(super) struct Metrics {
    statements: HashMap<&'static str, Histogram>,
    wait: Histogram,
}

impl Metrics {
    pub(super) fn register(registry: &Registry) -> Result<Self, StoreError> {
        Self::build(registry).map_err(|error| StoreError::Internal(format!("metrics of the store: {error}")))
    }

    fn build(registry: &Registry) -> prometheus::Result<Self> {
        let options = |name, help| HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
        let seconds = HistogramVec::new(
            options("switchboard_db_statement_seconds", "Time from the begin of a statement to its last row"),
            &["statement"],
        )?;
        let wait = Histogram::with_opts(options(
            "switchboard_db_pool_wait_seconds",
            "Time a call waited for a connection of the pool",
        ))?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(wait.clone()))?;
        let statements = statement::all()
            .map(|statement| (statement.name, seconds.with_label_values(&[statement.name])))
            .collect();
        Ok(Self { statements, wait })
    }

    pub(super) fn statement(&self, statement: &Statement, since: Instant) {
        if let Some(histogram) = self.statements.get(statement.name) {
            histogram.observe(since.elapsed().as_secs_f64());
        }
    }

    pub(super) fn waited(&self, waited: Duration) {
        self.wait.observe(waited.as_secs_f64());
    }
}
