//! Spans to a collector: OTLP over HTTP, as protobuf.
//!
//! ```text
//!   span ends -> queue (bounded) -> thread `traces`: batches -> POST /v1/traces
//! ```
//!
//! Whoever ends a span puts it into the queue and goes on; a full queue loses it, counted. The thread has a small runtime of its own, so
//! that it depends on no phase of the node: spans of the last things that a node does are sent as well. A batch that the collector could not take is
//! tried again a few times, then it is lost, counted. Nothing else of the node waits for any of this, whatever the collector does.

mod message;

use std::sync::LazyLock;
use std::sync::mpsc as blocking;
use std::thread;
use std::time::Duration;

use domain::NodeId;
use prometheus::{IntCounterVec, Opts, Registry};
use prost::Message as _;
use reqwest::{Client, StatusCode, Url, header, redirect};
use tokio::sync::mpsc;
use tokio::time::timeout;
use trace::{Finished, Sink};

use super::TelemetryError;

/// Spans that may wait.
const QUEUE: usize = 8192;
/// Spans of one request, at most.
const BATCH: usize = 512;
/// How long spans are gathered.
const GATHERED_FOR: Duration = Duration::from_secs(1);
/// How long the collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Pauses before a batch is tried again.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// What became of spans: of one process, like its log.
static SPANS: LazyLock<Result<IntCounterVec, prometheus::Error>> = LazyLock::new(|| {
    let opts = Opts::new("switchboard_trace_spans_total", "Spans of traces, by what became of them");
    let spans = IntCounterVec::new(opts, &["result"])?;
    for result in ["exported", "dropped", "failed"] {
        spans.with_label_values(&[result]);
    }
    Ok(spans)
});

/// Shows what became of spans.
///
/// # Errors
///
/// When the name is registered already.
pub(crate) fn register(registry: &Registry) -> Result<(), prometheus::Error> {
    match &*SPANS {
        Ok(spans) => registry.register(Box::new(spans.clone())),
        Err(error) => Err(prometheus::Error::Msg(error.to_string())),
    }
}

fn count(result: &str, spans: usize) {
    if let Ok(counter) = &*SPANS {
        counter.with_label_values(&[result]).inc_by(spans as u64);
    }
}

/// Puts spans into the queue.
pub(super) struct Queue(mpsc::Sender<Finished>);

impl Sink for Queue {
    fn finished(&self, span: Finished) {
        if self.0.try_send(span).is_err() {
            count("dropped", 1);
        }
    }
}

/// The thread that sends what is in the queue.
#[derive(Debug)]
pub(super) struct Exporter {
    stop: mpsc::Sender<()>,
    stopped: blocking::Receiver<()>,
}

impl Exporter {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// No thread, runtime or HTTP client can be made.
    pub(super) fn start(endpoint: Url, role: &str, node: NodeId) -> Result<(Queue, Self), TelemetryError> {
        let (queue, spans) = mpsc::channel(QUEUE);
        let (stop, stopping) = mpsc::channel(1);
        let (ended, stopped) = blocking::channel();
        let failed = |error: &dyn std::fmt::Display| TelemetryError::Exporter(error.to_string());
        let http = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(TIMEOUT);
        let sender = Sender {
            http: http.build().map_err(|error| failed(&error.without_url()))?,
            endpoint,
            resource: message::resource(role, node),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let run = move || {
            runtime.block_on(sender.run(spans, stopping));
            // Whoever waited may have gone.
            let _told = ended.send(());
        };
        thread::Builder::new().name("traces".into()).spawn(run).map_err(|error| failed(&error))?;
        Ok((Queue(queue), Self { stop, stopped }))
    }

    /// Sends what waits, and ends; not later than `deadline`.
    pub(super) fn finish(self, deadline: Duration) {
        drop(self.stop);
        if self.stopped.recv_timeout(deadline).is_err() {
            tracing::debug!("the last spans were not sent in time");
        }
    }
}

struct Sender {
    http: Client,
    endpoint: Url,
    resource: message::Resource,
}

/// How a request went.
enum Sent {
    Taken,
    /// It may be taken later.
    Later(String),
    /// It never will be.
    Never(String),
}

impl Sender {
    async fn run(self, mut spans: mpsc::Receiver<Finished>, mut stopping: mpsc::Receiver<()>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut failing = false;
        loop {
            let stops = tokio::select! {
                // Nobody ever sends on it: this is its end.
                _ = stopping.recv() => true,
                () = gather(&mut spans, &mut batch) => false,
            };
            if stops {
                spans.close();
            }
            while !batch.is_empty() || (stops && spans.recv_many(&mut batch, BATCH).await > 0) {
                failing = self.send(&mut batch, failing).await;
            }
            if stops {
                return;
            }
        }
    }

    /// Sends a batch; true when that failed. The first failure of several is told.
    async fn send(&self, batch: &mut Vec<Finished>, failing: bool) -> bool {
        let spans = batch.len();
        let body = message::request(&self.resource, batch.drain(..)).encode_to_vec();
        let mut pauses = PAUSES.iter();
        let why = loop {
            match self.post(body.clone()).await {
                Sent::Taken => {
                    count("exported", spans);
                    if failing {
                        tracing::info!("spans are exported again");
                    }
                    return false;
                }
                Sent::Never(why) => break why,
                Sent::Later(why) => match pauses.next() {
                    // While it fails nothing is tried for long: what waits meanwhile would be lost.
                    Some(pause) if !failing => tokio::time::sleep(*pause).await,
                    _ => break why,
                },
            }
        };
        count("failed", spans);
        if failing {
            tracing::debug!(error = why, spans, "spans still can't be exported");
        } else {
            tracing::warn!(
                error = why,
                spans,
                "spans can't be exported; they are lost until the collector takes them"
            );
        }
        true
    }

    async fn post(&self, body: Vec<u8>) -> Sent {
        let request = self.http.post(self.endpoint.clone()).body(body);
        match request.header(header::CONTENT_TYPE, "application/x-protobuf").send().await {
            // What the answer says beyond its status is nothing that could be acted on, so it is not read.
            Ok(answer) if answer.status().is_success() => Sent::Taken,
            Ok(answer) => {
                let status = answer.status();
                let why = format!("the collector answered {status}");
                let later = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
                if later { Sent::Later(why) } else { Sent::Never(why) }
            }
            Err(error) => Sent::Later(describe(&error.without_url())),
        }
    }
}

/// Waits for a span, then for more that come soon after.
async fn gather(spans: &mut mpsc::Receiver<Finished>, batch: &mut Vec<Finished>) {
    if spans.recv_many(batch, BATCH).await == 0 {
        // No span will come any more; what is left to wait for is the end.
        return std::future::pending().await;
    }
    let more =
        async { while batch.len() < BATCH && spans.recv_many(batch, BATCH - batch.len()).await > 0 {} };
    // What is in the batch stays there when the time is over.
    let _full = timeout(GATHERED_FOR, more).await;
}

/// An error with its causes, which reqwest does not show.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
