//! What the trace of an event says of its delivery: one span for each node, however many connections are given it.

use domain::Event;
use tracing::Span;

use crate::encoded::Path;

/// A span below the call that wrote the event, wherever that was; none when its trace is not recorded.
pub(super) fn span(event: &Event, path: Path, followers: usize) -> Span {
    let Some(trace) = &event.trace else { return Span::none() };
    let path = match path {
        Path::Local => "local",
        Path::Remote => "remote",
        Path::Replay => "replay",
    };
    trace::below(trace, [], || {
        tracing::debug_span!(
            target: trace::CONSUMER,
            "deliver",
            stream = %event.stream,
            seq = event.seq,
            event = event.kind.as_str(),
            path,
            followers
        )
    })
}
