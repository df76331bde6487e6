//! What the hub and the relay count.

use std::time::Duration;

use prometheus::{
    Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

use protocol::CloseCode;

use crate::encoded::Path;

/// Counters of one node's hub and relay.
#[derive(Clone)]
pub struct RealtimeMetrics {
    /// From the commit of an event (by the database's clock) to the write on a socket.
    fanout_local: Histogram,
    fanout_remote: Histogram,
    /// Time of one load of the relay.
    pub(crate) relay_load: Histogram,
    /// Streams that wait for the relay.
    pub(crate) relay_dirty: Gauge,
    /// Events that only the sweep found.
    pub(crate) sweep_recovered: IntCounter,
    /// Pushes that were left to the log because a connection's queue was full.
    pub(crate) held_back: IntCounter,
    /// Connections that are behind.
    pub(crate) behind: IntGauge,
    closed: IntCounterVec,
}

impl RealtimeMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    ///
    /// When one of the names is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let seconds = |name: &str, help: &str| {
            HistogramOpts::new(name, help)
                .buckets(vec![0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0])
        };
        let fanout = HistogramVec::new(
            seconds("switchboard_fanout_seconds", "From the commit of an event to the write on a socket"),
            &["path"],
        )?;
        let metrics = Self {
            fanout_local: fanout.with_label_values(&["local"]),
            fanout_remote: fanout.with_label_values(&["remote"]),
            relay_load: Histogram::with_opts(seconds(
                "switchboard_relay_load_seconds",
                "Time of one load of events by a relay shard",
            ))?,
            relay_dirty: Gauge::new(
                "switchboard_relay_dirty_streams",
                "Streams that a relay shard took up last",
            )?,
            sweep_recovered: IntCounter::new(
                "switchboard_sweep_recovered_total",
                "Events that only the sweep found",
            )?,
            held_back: IntCounter::new(
                "switchboard_held_back_total",
                "Pushes left to the log because the connection's queue was full",
            )?,
            behind: IntGauge::new("switchboard_behind_connections", "Connections that are behind")?,
            closed: IntCounterVec::new(
                Opts::new("switchboard_closed_total", "Closed connections by close code"),
                &["code"],
            )?,
        };
        registry.register(Box::new(fanout))?;
        registry.register(Box::new(metrics.relay_load.clone()))?;
        registry.register(Box::new(metrics.relay_dirty.clone()))?;
        registry.register(Box::new(metrics.sweep_recovered.clone()))?;
        registry.register(Box::new(metrics.held_back.clone()))?;
        registry.register(Box::new(metrics.behind.clone()))?;
        registry.register(Box::new(metrics.closed.clone()))?;
        Ok(metrics)
    }

    /// Counts a connection that ended with a close code. What a peer makes up is no label of its own.
    pub fn closed(&self, code: u16) {
        match CloseCode::from_code(code) {
            None if code != 1005 && code != 1006 => self.closed.with_label_values(&["other"]).inc(),
            _ => self.closed.with_label_values(&[&code.to_string()]).inc(),
        }
    }

    /// Notes that an event was written on a socket so long after its commit.
    pub fn fanned_out(&self, path: Path, after: Duration) {
        match path {
            Path::Local => self.fanout_local.observe(after.as_secs_f64()),
            Path::Remote => self.fanout_remote.observe(after.as_secs_f64()),
            // How old a replayed event is says nothing about this node.
            Path::Replay => {}
        }
    }
}
