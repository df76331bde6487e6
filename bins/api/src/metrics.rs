//! What the HTTP face counts.

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

/// Counters of the HTTP face. Labels are patterns of routes, never values of a request.
#[derive(Clone)]
pub struct ApiMetrics {
    pub(crate) requests: IntCounterVec,
    pub(crate) seconds: HistogramVec,
    pub(crate) origins_refused: prometheus::IntCounter,
}

impl ApiMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    ///
    /// When one of the names is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let requests = Opts::new("switchboard_http_requests_total", "Requests answered");
        let seconds = HistogramOpts::new("switchboard_http_request_seconds", "Time until an answer begins")
            .buckets(vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0]);
        let metrics = Self {
            requests: IntCounterVec::new(requests, &["method", "route", "status"])?,
            seconds: HistogramVec::new(seconds, &["method", "route"])?,
            origins_refused: prometheus::IntCounter::new(
                "switchboard_http_origins_refused_total",
                "Requests of pages whose origin is not in http.allowed_origins",
            )?,
        };
        registry.register(Box::new(metrics.requests.clone()))?;
        registry.register(Box::new(metrics.seconds.clone()))?;
        registry.register(Box::new(metrics.origins_refused.clone()))?;
        Ok(metrics)
    }
}
