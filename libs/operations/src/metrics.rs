//! What the write path counts.

use prometheus::{Histogram, HistogramOpts, Registry};

/// Counters of the write path.
#[derive(Clone)]
pub struct OperationsMetrics {
    /// Sends of one commit.
    pub(crate) batch_size: Histogram,
    /// Time of one commit.
    pub(crate) append_seconds: Histogram,
}

impl OperationsMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    ///
    /// When one of the names is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            batch_size: Histogram::with_opts(
                HistogramOpts::new("switchboard_append_batch_size", "Sends that went into one commit")
                    .buckets(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
            )?,
            append_seconds: Histogram::with_opts(
                HistogramOpts::new("switchboard_append_seconds", "Time of one commit of sends")
                    .buckets(vec![0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0]),
            )?,
        };
        registry.register(Box::new(metrics.batch_size.clone()))?;
        registry.register(Box::new(metrics.append_seconds.clone()))?;
        Ok(metrics)
    }
}
