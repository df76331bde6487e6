use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use testkit::collector::{Behaviour, FakeCollector};
use trace::{TraceContext, Value};

use super::*;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

fn finished(name: &'static str) -> Finished {
    let now = SystemTime::now();
    Finished {
        context: TraceContext::root(true),
        parent: None,
        links: vec![TraceContext::root(true)],
        name,
        target: trace::SERVER,
        began: now,
        ended: now + Duration::from_millis(5),
        fields: vec![("route", Value::Text("/v1".into())), ("status", Value::Int(503))],
        failed: true,
    }
}

fn start(collector: &FakeCollector) -> (Queue, Exporter) {
    let endpoint = format!("{}/v1/traces", collector.endpoint()).parse().expect("a URL");
    Exporter::start(endpoint, "api", NodeId::new()).expect("starts")
}

/// From a thread that may wait.
async fn finish(exporter: Exporter, within: Duration) -> Duration {
    let finishing = move || {
        let began = Instant::now();
        exporter.finish(within);
        began.elapsed()
    };
    tokio::task::spawn_blocking(finishing).await.expect("finished")
}

#[tokio::test]
async fn a_span_arrives_as_it_was() {
    let collector = FakeCollector::start().await;
    let (queue, exporter) = start(&collector);
    let given = finished("request");
    let (context, link) = (given.context, given.links[0]);
    queue.finished(given);
    let span = collector.span(|span| span.name == "request").await;
    assert_eq!((&span.trace, &span.id), (&context.trace.to_string(), &context.span.to_string()));
    assert_eq!((span.parent.as_str(), span.links, span.kind), ("", vec![link.trace.to_string()], 2));
    assert_eq!((span.failed, span.times.1 - span.times.0), (true, 5_000_000));
    assert_eq!(span.attributes["http.route"], "/v1");
    assert_eq!(span.attributes["http.response.status_code"], "503");
    assert_eq!(span.resource["service.name"], "switchboard-api");
    assert_eq!(span.resource["service.version"], env!("CARGO_PKG_VERSION"));
    finish(exporter, LONG).await;
}

#[tokio::test]
async fn the_last_spans_are_sent_at_the_end() {
    let collector = FakeCollector::start().await;
    let (queue, exporter) = start(&collector);
    for _ in 0..2000 {
        queue.finished(finished("last"));
    }
    finish(exporter, LONG).await;
    assert_eq!(collector.spans().len(), 2000);
    assert!(collector.bodies().len() <= 8, "in batches: {}", collector.bodies().len());
}

#[tokio::test]
async fn what_the_collector_does_holds_nobody_up() {
    let collector = FakeCollector::start().await;
    for behaviour in [
        Behaviour::Silence,
        Behaviour::Babble,
        Behaviour::Answer(400, vec![b'x'; 1 << 20]),
        Behaviour::Answer(503, Vec::new()),
        Behaviour::Answer(302, Vec::new()),
    ] {
        collector.behave(behaviour.clone());
        let before = collector.bodies().len();
        let (queue, exporter) = start(&collector);
        queue.finished(finished("unheard"));
        collector.requests(before + 1).await;
        let began = Instant::now();
        // More than fits into the queue: nothing of this waits.
        for _ in 0..2 * QUEUE {
            queue.finished(finished("unheard"));
        }
        let (given, ended) = (began.elapsed(), finish(exporter, SHORT).await);
        assert!(given < Duration::from_secs(5), "{behaviour:?}: {given:?}");
        assert!(ended < Duration::from_secs(10), "{behaviour:?}: {ended:?}");
    }
    assert_eq!(collector.spans().len(), 0);
}

#[tokio::test]
async fn what_could_not_be_taken_is_sent_again() {
    let collector = FakeCollector::start().await;
    collector.behave(Behaviour::Answer(503, Vec::new()));
    let (queue, exporter) = start(&collector);
    queue.finished(finished("late"));
    collector.requests(1).await;
    collector.behave(Behaviour::Take);
    collector.span(|span| span.name == "late").await;
    finish(exporter, LONG).await;
}

#[tokio::test]
async fn a_collector_that_is_not_there_is_no_fault() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("bound");
    drop(closed);
    let endpoint = format!("http://{address}/v1/traces").parse().expect("a URL");
    let (queue, exporter) = Exporter::start(endpoint, "api", NodeId::new()).expect("starts");
    let queue = Arc::new(queue);
    queue.finished(finished("unheard"));
    assert!(finish(exporter, SHORT).await < Duration::from_secs(10));
    // Whoever ends later still may.
    queue.finished(finished("too late"));
}
