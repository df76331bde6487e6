//! Structured logs: one line per event on standard error, each with the role and the node.
//!
//! Standard output is left to the command itself (`cluster --json` prints there).

use std::fmt;
use std::io::IsTerminal;

use domain::{Invalid, NodeId};
use serde::{Deserialize, Serialize};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{Format, Full, Json, JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt::Subscriber as Fmt};

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

    fn filter(&self) -> Result<EnvFilter, Invalid> {
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

/// Why logging can't begin.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `log.filter` is no filter.
    #[error(transparent)]
    Filter(#[from] Invalid),
    /// Logging was begun before in this process.
    #[error("logging was begun before in this process")]
    Twice,
}

impl TelemetryError {
    /// The kind of failure.
    #[must_use]
    pub const fn kind(&self) -> domain::ErrorKind {
        match self {
            Self::Filter(_) => domain::ErrorKind::Invalid,
            Self::Twice => domain::ErrorKind::Internal,
        }
    }
}

/// Begins logging for this process, panics included.
///
/// # Errors
///
/// A filter that is none, or a second call.
pub fn init(settings: &LogSettings, role: &'static str, node: NodeId) -> Result<(), TelemetryError> {
    let coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let subscriber = subscriber(settings, role, node, std::io::stderr, coloured.into())?;
    subscriber.try_init().map_err(|_| TelemetryError::Twice)?;
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "panic: {}", panic.payload_as_str().unwrap_or("not a text"));
    }));
    Ok(())
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

fn subscriber<W>(
    settings: &LogSettings,
    role: &'static str,
    node: NodeId,
    writer: W,
    colour: Colour,
) -> Result<Box<dyn Subscriber + Send + Sync>, TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = Fmt::builder()
        .with_env_filter(settings.filter()?)
        .with_writer(writer)
        // A line that can't be written (a full disk, a reader that is gone) is lost. Told on the same broken stream, it
        // would end the process.
        .log_internal_errors(false);
    let origin = Origin { role, node };
    Ok(match settings.format {
        LogFormat::Text => {
            let line = TextLine { origin, rest: Format::default().without_time() };
            Box::new(builder.with_ansi(colour == Colour::On).event_format(line).finish())
        }
        LogFormat::Json => {
            let line = JsonLine { origin, line: Format::default().json().flatten_event(true) };
            Box::new(builder.with_ansi(false).fmt_fields(JsonFields::new()).event_format(line).finish())
        }
    })
}

/// Who writes the line.
struct Origin {
    role: &'static str,
    node: NodeId,
}

/// `time role=... node=... LEVEL target: message fields`.
struct TextLine {
    origin: Origin,
    rest: Format<Full, ()>,
}

impl<S, N> FormatEvent<S, N> for TextLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (dim, plain) = if writer.has_ansi_escapes() { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        writer.write_str(dim)?;
        SystemTime.format_time(&mut writer)?;
        write!(writer, " role={} node={}{plain} ", self.origin.role, self.origin.node)?;
        self.rest.format_event(ctx, writer, event)
    }
}

/// One JSON object, whose first fields are the role and the node.
struct JsonLine {
    origin: Origin,
    line: Format<Json>,
}

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.line.format_event(ctx, Writer::new(&mut line), event)?;
        let rest = line.strip_prefix('{').ok_or(fmt::Error)?;
        write!(writer, r#"{{"role":"{}","node":"{}",{rest}"#, self.origin.role, self.origin.node)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(settings: &LogSettings, colour: Colour, log: impl FnOnce()) -> (NodeId, String) {
        let (sink, node) = (Sink::default(), NodeId::new());
        let writer = sink.clone();
        let subscriber =
            subscriber(settings, "api", node, move || writer.clone(), colour).expect("good settings");
        tracing::subscriber::with_default(subscriber, log);
        let bytes = sink.0.lock().clone();
        (node, String::from_utf8(bytes).expect("utf-8"))
    }

    #[test]
    fn every_json_line_is_an_object_with_role_and_node() {
        let settings = LogSettings { format: LogFormat::Json, ..LogSettings::default() };
        let (node, text) = logged(&settings, Colour::Off, || {
            let _span = tracing::info_span!("request", id = 7).entered();
            tracing::info!(room = "blue", "said \"hello\"");
            tracing::warn!("again");
        });
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for line in &lines {
            assert_eq!(line["role"], "api");
            assert_eq!(line["node"], node.to_string());
            assert_eq!(line["span"]["id"], 7);
        }
        assert_eq!(lines[0]["room"], "blue");
        assert_eq!(lines[0]["message"], "said \"hello\"");
    }

    #[test]
    fn text_has_colours_only_when_told() {
        let (node, plain) =
            logged(&LogSettings::default(), Colour::Off, || tracing::info!(room = "blue", "said"));
        assert!(
            plain.contains(&format!("role=api node={node}")) && plain.contains("room=\"blue\""),
            "{plain}"
        );
        assert!(!plain.contains('\x1b'), "{plain:?}");
        let (_, coloured) = logged(&LogSettings::default(), Colour::On, || tracing::info!("said"));
        assert!(coloured.contains('\x1b'), "{coloured:?}");
    }

    #[test]
    fn the_filter_is_obeyed_and_checked() {
        let settings = LogSettings { filter: "warn".to_owned(), ..LogSettings::default() };
        let (_, text) = logged(&settings, Colour::Off, || {
            tracing::info!("quiet");
            tracing::warn!("loud");
        });
        assert!(text.contains("loud") && !text.contains("quiet"), "{text}");
    }

    #[test]
    fn a_filter_that_is_none_is_refused() {
        let of = |filter: &str| LogSettings { filter: filter.to_owned(), ..LogSettings::default() };
        for good in
            ["info", "OFF", "info,cluster=debug", "warn,api::stream=trace", "info,[request{id=7}]=debug"]
        {
            assert_eq!(of(good).check(), Ok(()), "{good}");
        }
        for bad in ["", "infoo", "a=b=c", "cluster=loud", "info,", "info,cluster"] {
            let refused = of(bad).check().expect_err(bad);
            assert_eq!(refused.field, "log.filter");
            assert!(subscriber(&of(bad), "api", NodeId::new(), io::sink, Colour::Off).is_err(), "{bad}");
        }
    }
}
