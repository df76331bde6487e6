//! A collector of traces (OTLP over HTTP, protobuf) that keeps what it is sent, and answers as the test wants.
//!
//! ```no_run
//! # async fn example() {
//! use testkit::collector::FakeCollector;
//!
//! let collector = FakeCollector::start().await;
//! // ... nodes are told telemetry.otlp_endpoint = collector.endpoint() ...
//! let send = collector.span(|span| span.name == "send").await;
//! # }
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::http::Request;

/// How long a span may take to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A span as it came.
#[derive(Debug, Clone)]
pub struct Span {
    /// Attributes of the process it is of: `service.name`, `service.instance.id`.
    pub resource: HashMap<String, String>,
    /// Its name.
    pub name: String,
    /// Which trace, in hexadecimal digits.
    pub trace: String,
    /// Which span, in hexadecimal digits.
    pub id: String,
    /// The one it is below; empty for the top of a trace.
    pub parent: String,
    /// Traces it is linked to.
    pub links: Vec<String>,
    /// 2 server, 3 client, 5 consumer, 1 anything else.
    pub kind: i32,
    /// Its attributes, as text.
    pub attributes: HashMap<String, String>,
    /// Whether it is marked as failed.
    pub failed: bool,
    /// When it began and ended, in nanoseconds since 1970.
    pub times: (u64, u64),
}

/// What a collector does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Takes the spans.
    Take,
    /// Answers with this status and these bytes.
    Answer(u16, Vec<u8>),
    /// Answers with what is no HTTP.
    Babble,
    /// Reads, and never answers.
    Silence,
}

struct Shared {
    state: Mutex<State>,
    /// How many requests came.
    requests: watch::Sender<usize>,
}

struct State {
    behaviour: Behaviour,
    spans: Vec<Span>,
    bodies: Vec<Vec<u8>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The collector; it stops when dropped.
pub struct FakeCollector {
    origin: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for FakeCollector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeCollector {
    /// Listens on a free port, and takes what comes.
    ///
    /// # Panics
    ///
    /// There is none.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("it is bound"));
        let state = State { behaviour: Behaviour::Take, spans: Vec::new(), bodies: Vec::new() };
        let shared = Arc::new(Shared { state: Mutex::new(state), requests: watch::Sender::new(0) });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { origin, shared, task }
    }

    /// What nodes are told as `telemetry.otlp_endpoint`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.origin
    }

    /// Does so from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        self.shared.state().behaviour = behaviour;
    }

    /// The spans it has taken so far.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.shared.state().spans.clone()
    }

    /// The bytes of all requests so far, taken or not.
    #[must_use]
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.shared.state().bodies.clone()
    }

    /// The first span that is wanted, once it has come.
    ///
    /// # Panics
    ///
    /// It does not come within a minute.
    pub async fn span(&self, wanted: impl Fn(&Span) -> bool) -> Span {
        let mut requests = self.shared.requests.subscribe();
        let coming = async {
            loop {
                requests.borrow_and_update();
                if let Some(span) = self.shared.state().spans.iter().find(|span| wanted(span)) {
                    return span.clone();
                }
                requests.changed().await.expect("it listens");
            }
        };
        match timeout(PATIENCE, coming).await {
            Ok(span) => span,
            Err(_) => panic!("no such span came, but {:#?}", self.spans()),
        }
    }

    /// Waits until so many requests have come in all, whatever they were answered.
    ///
    /// # Panics
    ///
    /// They do not within a minute.
    pub async fn requests(&self, count: usize) {
        let mut requests = self.shared.requests.subscribe();
        let come = timeout(PATIENCE, requests.wait_for(|come| *come >= count)).await;
        assert!(come.is_ok(), "{} requests came, not {count}", *self.shared.requests.borrow());
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let shared = Arc::clone(&shared);
            connections.spawn(async move { serve(stream, &shared).await });
        }
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) {
    while let Some(request) = Request::read(&mut stream).await {
        let behaviour = take(&request, shared);
        shared.requests.send_modify(|requests| *requests += 1);
        let (status, body) = match behaviour {
            Behaviour::Take => (200, Vec::new()),
            Behaviour::Answer(status, body) => (status, body),
            Behaviour::Babble => {
                // The client may be gone.
                let _ = stream.write_all(b"\x00\xffnothing that a client knows\r\n\r\n").await;
                return;
            }
            Behaviour::Silence => return std::future::pending().await,
        };
        let head = format!("HTTP/1.1 {status} So\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all(&[head.into_bytes(), body].concat()).await.is_err() {
            return;
        }
    }
}

fn take(request: &Request, shared: &Shared) -> Behaviour {
    let mut state = shared.state();
    state.bodies.push(request.body.clone());
    if state.behaviour != Behaviour::Take {
        return state.behaviour.clone();
    }
    let typed = request.header("content-type") == Some("application/x-protobuf");
    match ExportTraceServiceRequest::decode(&*request.body) {
        Ok(message) if typed && request.target == "POST /v1/traces" => {
            state.spans.extend(spans(message));
            Behaviour::Take
        }
        _ => Behaviour::Answer(400, Vec::new()),
    }
}

fn spans(message: ExportTraceServiceRequest) -> Vec<Span> {
    let mut spans = Vec::new();
    for part in message.resource_spans {
        let resource = texts(part.resource.unwrap_or_default().attributes);
        for span in part.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.push(Span {
                resource: resource.clone(),
                name: span.name,
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                links: span.links.iter().map(|link| hex(&link.trace_id)).collect(),
                kind: span.kind,
                attributes: texts(span.attributes),
                failed: span.status.is_some_and(|status| status.code == 2),
                times: (span.start_time_unix_nano, span.end_time_unix_nano),
            });
        }
    }
    spans
}

fn texts(attributes: Vec<KeyValue>) -> HashMap<String, String> {
    let text = |value: Value| match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::DoubleValue(number) => number.to_string(),
        Value::BoolValue(yes) => yes.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = attributes.into_iter().filter_map(|pair| Some((pair.key, pair.value?.value?)));
    pairs.map(|(key, value)| (key, text(value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
