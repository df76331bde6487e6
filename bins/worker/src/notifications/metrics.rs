//! What is counted of notifications and pushes.

use domain::notification::Reason;
use prometheus::{Histogram, HistogramOpts, IntCounterVec, Opts, Registry};
use push::Outcome as Sent;
use store::push::Outcome;

/// Counters of decisions and pushes.
#[derive(Debug, Clone)]
pub struct NotificationMetrics {
    decisions: IntCounterVec,
    sent: IntCounterVec,
    seconds: Histogram,
}

impl NotificationMetrics {
    /// Registers them.
    ///
    /// # Errors
    ///
    /// When they are registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let decisions =
            Opts::new("switchboard_push_decisions_total", "Notifications that were decided, by why.");
        let sent = Opts::new("switchboard_push_sent_total", "Pushes that were sent, by what came of them.");
        let seconds = HistogramOpts::new("switchboard_push_seconds", "How long sending a push took.");
        let metrics = Self {
            decisions: IntCounterVec::new(decisions, &["reason"])?,
            sent: IntCounterVec::new(sent, &["result"])?,
            seconds: Histogram::with_opts(seconds)?,
        };
        registry.register(Box::new(metrics.decisions.clone()))?;
        registry.register(Box::new(metrics.sent.clone()))?;
        registry.register(Box::new(metrics.seconds.clone()))?;
        for reason in Reason::ALL {
            metrics.decisions.with_label_values(&[reason.as_str()]);
        }
        for result in ["sent", "gone", "later", "denied", "too_large", "refused"] {
            metrics.sent.with_label_values(&[result]);
        }
        Ok(metrics)
    }

    pub(super) fn decided(&self, outcome: &Outcome) {
        let reason = match outcome {
            Outcome::Over(reason) | Outcome::Waits(reason, _) | Outcome::Push(reason) => reason,
            Outcome::WaitsOn | Outcome::Later(_) => return,
        };
        self.decisions.with_label_values(&[reason.as_str()]).inc();
    }

    pub(super) fn sent(&self, outcome: Sent, seconds: f64) {
        self.sent.with_label_values(&[outcome.as_str()]).inc();
        self.seconds.observe(seconds);
    }
}
