//! Numbers of the keys of a node.

use jiff::Timestamp;
use prometheus::{Gauge, IntCounter, IntGaugeVec, Opts, Registry};

use super::manifest::KeyState;
use super::set::KeySet;

/// Metrics of reading keys.
#[derive(Debug, Clone)]
pub(super) struct KeyMetrics {
    keys: IntGaugeVec,
    errors: IntCounter,
    read_at: Gauge,
}

impl KeyMetrics {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let keys = Opts::new("switchboard_signing_keys", "Signing keys that this node has, by state");
        let read_at = "When this node last read the signing keys, as seconds since 1970; 0: never";
        let metrics = Self {
            keys: IntGaugeVec::new(keys, &["state"])?,
            errors: IntCounter::new(
                "switchboard_signing_key_read_errors_total",
                "Readings of the signing keys that failed; the keys that were read before stay",
            )?,
            read_at: Gauge::new("switchboard_signing_keys_read_timestamp_seconds", read_at)?,
        };
        for state in KeyState::ALL {
            metrics.keys.with_label_values(&[state.as_str()]).set(0);
        }
        registry.register(Box::new(metrics.keys.clone()))?;
        registry.register(Box::new(metrics.errors.clone()))?;
        registry.register(Box::new(metrics.read_at.clone()))?;
        Ok(metrics)
    }

    pub(super) fn read(&self, set: &KeySet, now: Timestamp) {
        let manifest = set.manifest();
        for state in KeyState::ALL {
            let count = manifest.keys().iter().filter(|key| manifest.state(key, now) == state).count();
            self.keys.with_label_values(&[state.as_str()]).set(count.try_into().unwrap_or(i64::MAX));
        }
        self.read_at.set(now.as_millisecond() as f64 / 1000.0);
        if !set.faults().is_empty() {
            self.errors.inc();
        }
    }

    pub(super) fn failed(&self) {
        self.errors.inc();
    }
}
