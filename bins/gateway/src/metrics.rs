//! What the gateway counts.

use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// Counters of sockets.
#[derive(Clone)]
pub struct GatewayMetrics {
    /// Open connections by role and kind.
    pub connections: IntGaugeVec,
    refused: IntCounterVec,
}

impl GatewayMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    ///
    /// When one of the names is registered already.
    pub fn register(registry: &Registry, connections: IntGaugeVec) -> Result<Self, prometheus::Error> {
        let refused = IntCounterVec::new(
            Opts::new("switchboard_handshakes_refused_total", "Handshakes that were refused, by reason"),
            &["reason"],
        )?;
        registry.register(Box::new(refused.clone()))?;
        Ok(Self { connections, refused })
    }

    pub(crate) fn refused(&self, reason: &str) {
        self.refused.with_label_values(&[reason]).inc();
    }
}
