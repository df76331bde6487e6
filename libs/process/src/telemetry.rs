//! Structured logs, and traces that go to a collector.
//!
//! The log is one line per event on standard error, each with the role and the node.
//!
//! Lines within a request or a connection carry its id, and lines of work that is traced the id of the trace; see the crate
//! `trace` for the spans that give them. These are made whatever `log.filter` says: it chooses lines, not what lines say.
//!
//! Standard output is left to the command itself (`cluster --json` prints there).

mod line;
pub(crate) mod otlp;
mod settings;

use std::io::IsTerminal;
use std::time::Duration;

use domain::{Invalid, NodeId};
pub use settings::{LogFormat, LogSettings, TelemetrySettings};
use trace::{Contexts, is_span};
use tracing::Subscriber;
use tracing_subscriber::filter::FilterExt as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, registry};

use line::{JsonLine, Origin, TextLine};
use otlp::Exporter;

/// Why logging can't begin.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A setting that can't work.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Spans can't be exported: no thread or no client can be made.
    #[error("traces can't be exported: {0}")]
    Exporter(String),
    /// Logging was begun before in this process.
    #[error("logging was begun before in this process")]
    Twice,
}

impl TelemetryError {
    /// The kind of failure.
    #[must_use]
    pub const fn kind(&self) -> domain::ErrorKind {
        match self {
            Self::Invalid(_) => domain::ErrorKind::Invalid,
            Self::Exporter(_) | Self::Twice => domain::ErrorKind::Internal,
        }
    }
}

/// How long the last spans may take to be sent.
const FINISH_WITHIN: Duration = Duration::from_secs(3);

/// Logging and tracing that have begun.
#[derive(Debug)]
#[must_use = "the last spans are sent by `finish`"]
pub struct Telemetry(Option<Exporter>);

impl Telemetry {
    /// Sends the last spans. To be called when everything else is over, outside of any runtime.
    pub fn finish(self) {
        if let Some(exporter) = self.0 {
            exporter.finish(FINISH_WITHIN);
        }
    }
}

/// Begins logging for this process, panics included, and tracing.
///
/// # Errors
///
/// Settings that can't work, or a second call.
pub fn init(
    log: &LogSettings,
    traces: &TelemetrySettings,
    role: &'static str,
    node: NodeId,
) -> Result<Telemetry, TelemetryError> {
    let coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (contexts, exporter) = match traces.endpoint()? {
        None => (Contexts::unrecorded(), None),
        Some(endpoint) => {
            let (queue, exporter) = Exporter::start(endpoint, role, node)?;
            (Contexts::recorded(traces.sample_ratio, queue), Some(exporter))
        }
    };
    let origin = Origin { role, node };
    let subscriber = subscriber(log, origin, contexts, std::io::stderr, coloured.into())?;
    subscriber.try_init().map_err(|_| TelemetryError::Twice)?;
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "panic: {}", panic.payload_as_str().unwrap_or("not a text"));
    }));
    Ok(Telemetry(exporter))
}

/// Whether a log line has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    On,
    Off,
}

impl From<bool> for Colour {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

fn subscriber<W>(
    settings: &LogSettings,
    origin: Origin,
    contexts: Contexts,
    writer: W,
    colour: Colour,
) -> Result<impl Subscriber + Send + Sync, TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let recording = contexts.recording();
    let lines =
        lines(settings, origin, writer, colour).with_filter(settings.filter()?.or(is_span(recording)));
    // Places come first: lines say them.
    Ok(registry().with(vec![contexts.with_filter(is_span(recording)).boxed(), lines.boxed()]))
}

fn lines<W>(settings: &LogSettings, origin: Origin, writer: W, colour: Colour) -> BoxedLayer
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // A line that can't be written (a full disk, a reader that is gone) is lost. Told on the same broken stream, it
    // would end the process.
    let layer = fmt::layer().with_writer(writer).log_internal_errors(false);
    match settings.format {
        LogFormat::Text => layer.with_ansi(colour == Colour::On).event_format(TextLine::new(origin)).boxed(),
        LogFormat::Json => {
            let layer = layer.with_ansi(false).fmt_fields(JsonFields::new());
            layer.event_format(JsonLine::new(origin)).boxed()
        }
    }
}

#[cfg(test)]
mod tests;
