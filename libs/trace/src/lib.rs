//! What belongs together, over nodes and into the log.
//!
//! Work that is to be followed is done in a `tracing` span of one of the targets here. Such a span has a place in a trace
//! ([`TraceContext`]): below the span around it, below a place that came from elsewhere ([`below`]), or at the top of
//! a trace of its own. The layer [`Contexts`] gives the places, and hands spans of traces that are
//! recorded to a [`Sink`] once they are over.
//!
//! - [`SERVER`], [`CLIENT`], [`CONSUMER`], [`INTERNAL`]: spans of traces, by their part in it. Those of level info are always made, so that the
//!   lines in them have the id of a trace. Those of level debug are made only while spans are recorded.
//! - [`LINE`]: spans without a place, which only add their fields to the lines in them.
//!
//! What an event, a row or a request carries to where the trace goes on is [`traceparent`].
//!
//! What never lives here: protocols of collectors, the form of lines, anything of the product.

mod context;
mod contexts;
mod span;

pub use context::{SpanId, TraceContext, TraceId};
pub use contexts::{Contexts, Recording, is_span};
pub use span::{Finished, Sink, Value};

use std::sync::Arc;

use tracing::dispatcher;
use tracing_subscriber::Registry;
use tracing_subscriber::registry::{LookupSpan as _, SpanRef};

/// Somebody asked for it, from outside.
pub const SERVER: &str = "span.server";
/// We ask somebody outside.
pub const CLIENT: &str = "span.client";
/// What was written elsewhere, or earlier, is taken up.
pub const CONSUMER: &str = "span.consumer";
/// Anything else.
pub const INTERNAL: &str = "span.internal";
/// Only for the lines.
pub const LINE: &str = "span.line";

/// Makes a span below a place that came from elsewhere (`traceparent`), with links to others. What is no good
/// place is left out, as the standard wants it: the span is then made as it would be without.
pub fn below<'t>(
    parent: &str,
    links: impl IntoIterator<Item = &'t str>,
    make: impl FnOnce() -> tracing::Span,
) -> tracing::Span {
    let Ok(parent) = parent.parse() else { return make() };
    let links = links.into_iter().filter_map(|link| link.parse().ok()).collect();
    contexts::with_given(contexts::Given { parent, links }, make)
}

/// The place of the current span.
#[must_use]
pub fn current() -> Option<TraceContext> {
    dispatcher::get_default(|dispatch| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        let current = dispatch.current_span();
        of(&registry.span(current.id()?)?)
    })
}

/// The place of a span: its own, or that of the nearest around it.
#[must_use]
pub fn of<'s, S: tracing_subscriber::registry::LookupSpan<'s>>(
    span: &SpanRef<'s, S>,
) -> Option<TraceContext> {
    span.scope().find_map(|span| contexts::place(&span))
}

/// What is carried to where the trace goes on: the place of the current span as a W3C `traceparent`, if its trace
/// is recorded.
#[must_use]
pub fn traceparent() -> Option<Arc<str>> {
    current().filter(|context| context.recorded).map(|context| context.to_string().into())
}
