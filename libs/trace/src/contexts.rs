//! The layer that gives spans their places.

use std::cell::RefCell;
use std::fmt;

use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::LINE;
use crate::context::TraceContext;
use crate::span::{Open, Sink};

/// Whether spans are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recording {
    /// They are handed on.
    On,
    /// They only give places.
    Off,
}

/// The filter of layers that are to see the spans of this crate's targets, for [`Contexts`] and for who writes lines: so
/// others are not made at all.
#[must_use]
pub fn is_span(recording: Recording) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + Clone> {
    let finest = match recording {
        Recording::On => Level::DEBUG,
        Recording::Off => Level::INFO,
    };
    FilterFn::new(move |metadata: &Metadata<'_>| {
        metadata.is_span() && metadata.target().starts_with("span.") && *metadata.level() <= finest
    })
    .with_max_level_hint(finest)
}

/// Gives spans their places in traces.
pub struct Contexts {
    recorder: Option<Recorder>,
}

struct Recorder {
    ratio: f64,
    sink: Box<dyn Sink>,
}

impl fmt::Debug for Contexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contexts").field("recording", &self.recording()).finish_non_exhaustive()
    }
}

impl Contexts {
    /// Gives places, and records nothing.
    #[must_use]
    pub const fn unrecorded() -> Self {
        Self { recorder: None }
    }

    /// Records this share (0 to 1) of the traces that begin here, and those that were begun elsewhere and are recorded there.
    #[must_use]
    pub fn recorded(ratio: f64, sink: impl Sink) -> Self {
        Self { recorder: Some(Recorder { ratio, sink: Box::new(sink) }) }
    }

    /// Whether spans are recorded.
    #[must_use]
    pub const fn recording(&self) -> Recording {
        if self.recorder.is_some() { Recording::On } else { Recording::Off }
    }

    fn place_below(&self, parent: Option<TraceContext>) -> TraceContext {
        match (&self.recorder, parent) {
            (Some(_), Some(parent)) => parent.next(),
            (Some(recorder), None) => TraceContext::root(rand::random::<f64>() < recorder.ratio),
            (None, Some(parent)) => TraceContext { recorded: false, ..parent.next() },
            (None, None) => TraceContext::root(false),
        }
    }
}

/// What is kept with a span.
struct Placed {
    context: TraceContext,
    open: Option<Open>,
}

pub(crate) fn place<'s, S: LookupSpan<'s>>(span: &SpanRef<'s, S>) -> Option<TraceContext> {
    span.extensions().get::<Placed>().map(|placed| placed.context)
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Contexts {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if attributes.metadata().target() == LINE {
            return;
        }
        let Some(span) = ctx.span(id) else { return };
        let (parent, links) = match GIVEN.take() {
            Some(given) => (Some(given.parent), given.links),
            None => (span.parent().and_then(|parent| crate::of(&parent)), Vec::new()),
        };
        let context = self.place_below(parent);
        let open = context.recorded.then(|| {
            let mut open = Open::new(parent.map(|parent| parent.span), links);
            attributes.record(&mut open);
            open
        });
        span.extensions_mut().insert(Placed { context, open });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Placed>().and_then(|placed| placed.open.as_mut())
        {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let (Some(recorder), Some(span)) = (&self.recorder, ctx.span(&id)) else { return };
        let placed = span.extensions_mut().remove::<Placed>();
        if let Some(Placed { context, open: Some(open) }) = placed {
            let metadata = span.metadata();
            recorder.sink.finished(open.finish(context, metadata.name(), metadata.target()));
        }
    }
}

/// Where the next span of this thread belongs, when that is said.
pub(crate) struct Given {
    pub(crate) parent: TraceContext,
    pub(crate) links: Vec<TraceContext>,
}

thread_local! {
    static GIVEN: RefCell<Option<Given>> = const { RefCell::new(None) };
}

/// Makes a span with that said. A span that is not made leaves nothing behind.
pub(crate) fn with_given(given: Given, make: impl FnOnce() -> tracing::Span) -> tracing::Span {
    GIVEN.set(Some(given));
    let span = make();
    GIVEN.set(None);
    span
}

#[cfg(test)]
mod tests;
