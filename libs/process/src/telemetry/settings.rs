//! How a node writes its log, and where its traces go.

use domain::Invalid;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How a node writes its log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// `text` for people (coloured on a terminal), `json` for machines.
    pub format: LogFormat,
    /// What is logged: a level, or levels by module, such as `info,cluster=debug`.
    pub filter: String,
}

impl LogSettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// `log.filter` is no filter.
    pub fn check(&self) -> Result<(), Invalid> {
        self.filter().map(drop)
    }

    pub(super) fn filter(&self) -> Result<EnvFilter, Invalid> {
        // A word alone would be taken for the name of a module, also when it is a level with a typing error.
        let is_word = |part: &str| !part.contains(['=', '[', ']']);
        let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
        let mut words = self.filter.split(',').filter(|part| is_word(part));
        let filter = EnvFilter::try_new(&self.filter).ok().filter(|_| words.all(is_level));
        filter.ok_or_else(|| Invalid::new("log.filter", &self.filter, FILTERS))
    }
}

const FILTERS: &str =
    "a level (error, warn, info, debug, trace, off), or levels by module such as info,cluster=debug";

impl Default for LogSettings {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Where traces go.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetrySettings {
    /// Where a collector takes OTLP over HTTP, such as `http://collector:4318`; spans are sent to `/v1/traces` there. Empty: traces
    /// are not recorded.
    pub otlp_endpoint: String,
    /// Which share of the traces that begin here is recorded, 0 to 1. A request that comes with a trace of its own (`traceparent`) is
    /// recorded when its caller records it.
    pub sample_ratio: f64,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { otlp_endpoint: String::new(), sample_ratio: 1.0 }
    }
}

impl TelemetrySettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// An endpoint that is no URL of HTTP, or a share that is none.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return Err(Invalid::new("telemetry.sample_ratio", &self.sample_ratio.to_string(), "0 to 1"));
        }
        self.endpoint().map(drop)
    }

    /// Where spans are sent; none when they are not.
    pub(super) fn endpoint(&self) -> Result<Option<Url>, Invalid> {
        if self.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        let good = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        };
        // What is wrong may be a secret in the wrong place: it is not repeated.
        let refused = || Invalid::new("telemetry.otlp_endpoint", "this", ENDPOINTS);
        let mut url = self.otlp_endpoint.parse().ok().filter(good).ok_or_else(refused)?;
        url.path_segments_mut().map_err(|()| refused())?.pop_if_empty().extend(["v1", "traces"]);
        Ok(Some(url))
    }
}

const ENDPOINTS: &str =
    "a URL of http or https without user, password and query, such as http://collector:4318; or nothing";
