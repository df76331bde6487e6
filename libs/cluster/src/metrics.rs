//! Metrics of the channel.

use prometheus::{
    Gauge, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry, exponential_buckets,
};

use crate::error::Error;

/// The channel's metrics: register once per registry, hand to the notifier and the listener.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(crate) sent: IntCounter,
    pub(crate) batch_size: Histogram,
    pub(crate) largest_payload: IntGauge,
    pub(crate) dropped: IntCounter,
    pub(crate) send_errors: IntCounter,
    pub(crate) received: IntCounterVec,
    pub(crate) unknown: IntCounter,
    pub(crate) malformed: IntCounter,
    pub(crate) queue_usage: Gauge,
    pub(crate) connected: IntGauge,
    pub(crate) disconnects: IntCounter,
    pub(crate) round_trip: Histogram,
}

impl Metrics {
    /// Makes and registers all of them.
    ///
    /// # Errors
    ///
    /// One of the names is taken in this registry.
    pub fn register(registry: &Registry) -> Result<Self, Error> {
        let counter = |name: &str, help: &str| -> Result<IntCounter, Error> {
            let metric = IntCounter::new(name, help)?;
            registry.register(Box::new(metric.clone()))?;
            Ok(metric)
        };
        let histogram = |name: &str, help: &str, buckets: Vec<f64>| -> Result<Histogram, Error> {
            let opts = HistogramOpts::new(name, help).buckets(buckets);
            let metric = Histogram::with_opts(opts)?;
            registry.register(Box::new(metric.clone()))?;
            Ok(metric)
        };
        let received = IntCounterVec::new(
            Opts::new("switchboard_notify_received_total", "Entries of other nodes, by kind."),
            &["kind"],
        )?;
        registry.register(Box::new(received.clone()))?;
        let queue_usage = Gauge::new(
            "switchboard_notify_queue_usage",
            "How full PostgreSQL's notification queue is, 0 to 1; full, every NOTIFY fails.",
        )?;
        registry.register(Box::new(queue_usage.clone()))?;
        let largest_payload = IntGauge::new(
            "switchboard_notify_largest_payload_bytes",
            "Bytes of the largest payload sent by this process; PostgreSQL takes less than 8000.",
        )?;
        registry.register(Box::new(largest_payload.clone()))?;
        let connected =
            IntGauge::new("switchboard_listener_connected", "1 while this node hears other nodes, else 0.")?;
        registry.register(Box::new(connected.clone()))?;
        Ok(Self {
            sent: counter("switchboard_notify_sent_total", "Entries sent to other nodes.")?,
            batch_size: histogram(
                "switchboard_notify_batch_size",
                "Entries per statement.",
                exponential_buckets(1.0, 4.0, 8)?,
            )?,
            largest_payload,
            dropped: counter(
                "switchboard_notify_dropped_total",
                "Entries dropped because too many were waiting.",
            )?,
            send_errors: counter(
                "switchboard_notify_errors_total",
                "Attempts to connect or to send that failed.",
            )?,
            received,
            unknown: counter(
                "switchboard_notify_unknown_total",
                "Entries of kinds that this release does not know.",
            )?,
            malformed: counter(
                "switchboard_notify_malformed_total",
                "Pieces of payloads that are no entries.",
            )?,
            queue_usage,
            connected,
            disconnects: counter(
                "switchboard_listener_disconnects_total",
                "Times the listener lost its connection.",
            )?,
            round_trip: histogram(
                "switchboard_listener_round_trip_seconds",
                "The listener's round trip to itself.",
                exponential_buckets(0.000_5, 4.0, 8)?,
            )?,
        })
    }
}
