//! The numbers of a node: one Prometheus registry, rendered as text on the admin listener.
//!
//! Libraries register their own collectors with the registry they are given. Every name carries the
//! prefix `switchboard_` but for those of the process itself, which have the names that
//! Prometheus knows. All names stand in `docs/metrics.md`.

use std::sync::Arc;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};

/// The metrics of a node. Clones are the same metrics.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    info: IntGaugeVec,
}

/// A collector that can't be registered, or a registry that can't be rendered.
#[derive(Debug, thiserror::Error)]
#[error("metrics: {0}")]
pub struct MetricsError(#[from] prometheus::Error);

impl MetricsError {
    /// The kind of failure: a fault of ours.
    #[must_use]
    pub const fn kind(&self) -> domain::ErrorKind {
        domain::ErrorKind::Internal
    }
}

impl Metrics {
    /// A registry with what every node has: who it is and how much memory it holds.
    ///
    /// # Errors
    ///
    /// None in practice: names are fixed and the registry is fresh.
    pub fn new(role: &str, version: &str) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let opts = Opts::new("switchboard_node_info", "Role and version of this node; always 1.");
        let info = IntGaugeVec::new(opts, &["role", "version"])?;
        info.with_label_values(&[role, version]).set(1);
        registry.register(Box::new(info.clone()))?;
        registry.register(Box::new(Memory::new()?))?;
        crate::telemetry::otlp::register(&registry)?;
        Ok(Self { registry, info })
    }

    /// Says that this process has another role too (everything in one process).
    pub fn add_role(&self, role: &str, version: &str) {
        self.info.with_label_values(&[role, version]).set(1);
    }

    /// Where collectors are registered.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Everything, in Prometheus' text format.
    ///
    /// # Errors
    ///
    /// A collector that gives metrics without a name or of mixed types.
    pub fn render(&self) -> Result<String, MetricsError> {
        Ok(TextEncoder::new().encode_to_string(&self.registry.gather())?)
    }
}

/// Resident memory, read when asked for.
#[derive(Clone)]
struct Memory {
    resident: Arc<IntGauge>,
}

impl Memory {
    fn new() -> Result<Self, prometheus::Error> {
        let resident = IntGauge::new("process_resident_memory_bytes", "Resident memory of this process.")?;
        Ok(Self { resident: Arc::new(resident) })
    }
}

impl Collector for Memory {
    fn desc(&self) -> Vec<&Desc> {
        self.resident.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        match std::fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident_bytes) {
            Some(bytes) => {
                self.resident.set(bytes);
                self.resident.collect()
            }
            // No such file on this operating system: no metric rather than a wrong one.
            None => Vec::new(),
        }
    }
}

fn resident_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_who_the_node_is_and_what_it_holds() {
        let metrics = Metrics::new("api", "1.2.3").expect("fresh registry");
        metrics.add_role("gateway", "1.2.3");
        let text = metrics.render().expect("renders");
        assert!(text.contains(r#"switchboard_node_info{role="api",version="1.2.3"} 1"#), "{text}");
        assert!(text.contains(r#"switchboard_node_info{role="gateway",version="1.2.3"} 1"#), "{text}");
        let memory = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        if cfg!(target_os = "linux") {
            let bytes: f64 = memory.expect("has memory").parse().expect("a number");
            assert!(bytes > 100_000.0, "{bytes}");
        }
    }

    #[test]
    fn reads_resident_memory() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t1\n"), Some(1_263_616));
        assert_eq!(resident_bytes("VmRSS:\t lots kB"), None);
        assert_eq!(resident_bytes("Name:\tx"), None);
    }
}
