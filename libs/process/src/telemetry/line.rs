//! Lines of the log.
//!
//! Each says who wrote it, and what the spans around it say: above all the id of the request or the connection, and that of
//! the trace.

use std::collections::HashSet;
use std::fmt;

use domain::NodeId;
use serde_json::{Map, Value};
use trace::TraceContext;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Json, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Who writes the line.
pub(super) struct Origin {
    pub(super) role: &'static str,
    pub(super) node: NodeId,
}

/// `time role=... node=... trace_id=... LEVEL span{fields}: target: message fields`.
pub(super) struct TextLine {
    origin: Origin,
    rest: Format<Full, ()>,
}

impl TextLine {
    pub(super) fn new(origin: Origin) -> Self {
        Self { origin, rest: Format::default().without_time() }
    }
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
        write!(writer, " role={} node={}", self.origin.role, self.origin.node)?;
        if let Some(place) = place(ctx) {
            write!(writer, " trace_id={}", place.trace)?;
        }
        write!(writer, "{plain} ")?;
        self.rest.format_event(ctx, writer, event)
    }
}

/// One JSON object: the role and the node, the id of the trace, what the event says, and what the spans around it say beyond
/// that, the inner ones first.
pub(super) struct JsonLine {
    origin: Origin,
    event: Format<Json>,
}

impl JsonLine {
    pub(super) fn new(origin: Origin) -> Self {
        let event = Format::default().json();
        let event = event.flatten_event(true).with_current_span(false).with_span_list(false);
        Self { origin, event }
    }
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
        write!(writer, r#"{{"role":"{}","node":"{}","#, self.origin.role, self.origin.node)?;
        if let Some(place) = place(ctx) {
            write!(writer, r#""trace_id":"{}","#, place.trace)?;
        }
        let mut said = String::new();
        self.event.format_event(ctx, Writer::new(&mut said), event)?;
        if let Some(scope) = ctx.event_scope() {
            let mut known: HashSet<String> = object(&said).into_iter().map(|(name, _)| name).collect();
            for span in scope {
                let extensions = span.extensions();
                let Some(fields) = extensions.get::<FormattedFields<N>>() else { continue };
                for (name, value) in object(fields) {
                    if !known.contains(&name) {
                        write!(writer, "{}:{value},", Value::from(&*name))?;
                        known.insert(name);
                    }
                }
            }
        }
        writer.write_str(said.strip_prefix('{').ok_or(fmt::Error)?)
    }
}

/// The place in a trace of who writes the line.
fn place<S, N>(ctx: &FmtContext<'_, S, N>) -> Option<TraceContext>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    ctx.lookup_current().and_then(|span| trace::of(&span))
}

fn object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}
