use std::sync::Arc;

use parking_lot::Mutex;
use tracing::{debug_span, info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::{Finished, INTERNAL, SERVER, Value, below, current, traceparent};

const REMOTE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Finished>>>);

impl Sink for Kept {
    fn finished(&self, span: Finished) {
        self.0.lock().push(span);
    }
}

fn with(contexts: Contexts, work: impl FnOnce()) {
    let filter = is_span(contexts.recording());
    let subscriber = tracing_subscriber::registry().with(contexts.with_filter(filter));
    tracing::subscriber::with_default(subscriber, work);
}

fn recorded(ratio: f64, work: impl FnOnce()) -> Vec<Finished> {
    let kept = Kept::default();
    with(Contexts::recorded(ratio, kept.clone()), work);
    std::mem::take(&mut *kept.0.lock())
}

#[test]
fn spans_within_are_below_the_one_around_them() {
    let spans = recorded(1.0, || {
        let _request =
            info_span!(target: SERVER, "request", route = "/v1", status = tracing::field::Empty).entered();
        let _line = info_span!(target: LINE, "connection").entered();
        let inner = debug_span!(target: INTERNAL, "append", sends = 3_u64, failed = true);
        info!("events are nobody's business here");
        drop(inner);
        tracing::Span::current().record("status", 1);
    });
    let [append, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((append.name, request.name, request.parent), ("append", "request", None));
    assert_eq!((append.parent, append.context.trace), (Some(request.context.span), request.context.trace));
    assert_eq!((append.failed, request.failed), (true, false));
    assert_eq!(append.fields, [("sends", Value::Int(3))]);
    assert_eq!(request.fields, [("route", Value::Text("/v1".into()))]);
    assert!(append.began >= request.began && append.ended <= request.ended);
}

#[test]
fn a_field_that_is_set_later_is_recorded() {
    let spans = recorded(1.0, || {
        let span = info_span!(target: SERVER, "request", status = tracing::field::Empty);
        span.record("status", 201);
        span.record("status", 200);
    });
    assert_eq!(spans[0].fields, [("status", Value::Int(200))]);
}

#[test]
fn a_trace_from_elsewhere_goes_on_here() {
    let remote: TraceContext = REMOTE.parse().expect("good");
    let other = TraceContext::root(true);
    let spans = recorded(0.0, || {
        let _around = info_span!(target: SERVER, "around").entered();
        drop(below(
            REMOTE,
            [other.to_string().as_str(), "nonsense"],
            || info_span!(target: SERVER, "request"),
        ));
        drop(below("nonsense", [], || info_span!(target: SERVER, "unrecorded")));
        drop(below(&REMOTE.replace("-01", "-00"), [], || info_span!(target: SERVER, "unrecorded")));
    });
    let [request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((request.context.trace, request.parent), (remote.trace, Some(remote.span)));
    assert_ne!(request.context.span, remote.span);
    assert_eq!(request.links, [other]);
}

#[test]
fn a_span_that_is_not_made_leaves_its_place_to_nobody() {
    let spans = recorded(1.0, || {
        drop(below(REMOTE, [], || info_span!(target: "elsewhere", "no span of ours")));
        drop(info_span!(target: SERVER, "request"));
    });
    assert_eq!((spans.len(), spans[0].parent), (1, None));
}

#[test]
fn the_current_place_is_that_of_the_nearest_span_with_one() {
    assert_eq!((current(), traceparent()), (None, None));
    let spans = recorded(1.0, || {
        assert_eq!(current(), None);
        let _request = info_span!(target: SERVER, "request").entered();
        let _line = info_span!(target: LINE, "line").entered();
        let _other = info_span!(target: "elsewhere", "other").entered();
        let here = current().expect("a place");
        assert_eq!(traceparent().as_deref(), Some(&*here.to_string()));
        drop(below(&here.to_string(), [], || info_span!(target: SERVER, "further")));
    });
    let [further, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(further.parent, Some(request.context.span));
}

#[test]
fn unrecorded_there_are_places_but_nothing_is_carried_on() {
    with(Contexts::unrecorded(), || {
        let span = below(REMOTE, [], || info_span!(target: SERVER, "request"));
        let _entered = span.entered();
        let here = current().expect("a place");
        assert_eq!(here.trace, REMOTE.parse::<TraceContext>().expect("good").trace);
        assert_eq!((here.recorded, traceparent()), (false, None));
        assert!(debug_span!(target: INTERNAL, "append").is_disabled(), "made only to be recorded");
    });
}

#[test]
fn the_ratio_decides_on_traces_that_begin_here() {
    let begin = || (0..1000).for_each(|_| drop(info_span!(target: SERVER, "request")));
    assert_eq!(recorded(0.0, begin).len(), 0);
    assert_eq!(recorded(1.0, begin).len(), 1000);
    // Off by ten standard deviations once in a life of the universe.
    let half = recorded(0.5, begin).len();
    assert!((342..=658).contains(&half), "{half}");
}
