//! Server-Sent Events: the frames of the gateway for clients without a WebSocket.
//!
//! The same session stands behind it: the same slot, cursors, replay and limits. Frames come as `data:`, and every
//! event carries an `id:` with all cursors, so that `Last-Event-ID` resumes on any node. What ends the stream is
//! said by an event of type `close`, since HTTP has no close code.

mod cursors;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::{BufMut, Bytes, BytesMut};
use domain::NodeId;
use futures_util::stream;
use jiff::Timestamp;
use process::supervise::Tasks;
use prometheus::IntGaugeVec;
use protocol::frame::{Hello, RefreshAsked};
use protocol::{CloseCode, Encoding, ServerFrame};
use realtime::{
    Body as FrameBody, CatchUp, ConnectionMeta, Encoded, Fed, Feed, Opened, Opening, RealtimeMetrics,
    SessionError, Sessions, Term, Turn, Wire,
};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::Instrument as _;

pub use cursors::{Cursors, MAX_ID};

use crate::layers::observe::request_id;

/// How streams behave; the same keys as those of the gateway.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// The longest silence: a comment is sent then.
    pub heartbeat_interval: Duration,
    /// Told in `hello`.
    pub reconnect_jitter: Duration,
    /// How long the client may take nothing, or be behind.
    pub behind_limit: Duration,
    /// How long a stream may outlive its access token.
    pub refresh_grace: Duration,
}

/// What streams stand on.
#[derive(Clone)]
pub struct Streams {
    /// This node.
    pub node: NodeId,
    /// Begins and ends sessions.
    pub sessions: Arc<Sessions>,
    /// Reads the log for connections that lag.
    pub catchup: Arc<CatchUp>,
    /// Counters that sockets share.
    pub realtime: RealtimeMetrics,
    /// `switchboard_connections{role,kind}`.
    pub connections: IntGaugeVec,
    /// Where streams run: told to end when the node drains.
    pub tasks: Tasks,
    /// How they behave.
    pub limits: StreamLimits,
}

impl Streams {
    /// Begins a session and answers with its frames. `cursors` are those of `Last-Event-ID`; `expires_at` is when the access
    /// token ends.
    ///
    /// # Errors
    ///
    /// See [`SessionError`].
    pub async fn open(
        &self,
        meta: ConnectionMeta,
        opening: &Opening,
        cursors: Cursors,
        expires_at: Option<Timestamp>,
    ) -> Result<Response<Body>, SessionError> {
        let opened = self.sessions.open(meta, opening).await?;
        let (sender, mut receiver) = mpsc::channel::<Bytes>(1);
        let pump = Pump {
            streams: self.clone(),
            connection: Arc::clone(&opened.connection),
            cursors,
            sender,
            term: Term::new(expires_at, self.limits.refresh_grace),
        };
        // Not below the request, which is over once this is answered.
        let span = tracing::info_span!(
            target: trace::LINE,
            parent: None,
            "connection",
            connection_id = %meta.id,
            request_id = request_id()
        );
        self.tasks.transient("event stream", pump.run(meta, opened).instrument(span));
        let chunks =
            stream::poll_fn(move |cx| receiver.poll_recv(cx).map(|chunk| chunk.map(Ok::<_, Infallible>)));
        let mut response = Response::new(Body::from_stream(chunks));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // nginx holds answers back unless it is told not to.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        Ok(response)
    }
}

/// Carries frames from the feed into the body of the answer. Gone with it when the client goes.
struct Pump {
    streams: Streams,
    connection: Arc<realtime::Connection>,
    cursors: Cursors,
    sender: mpsc::Sender<Bytes>,
    term: Term,
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.streams.sessions.close(&self.connection);
    }
}

impl Pump {
    async fn run(mut self, meta: ConnectionMeta, opened: Opened) {
        let open = self.streams.connections.with_label_values(&["api", "stream"]);
        open.inc();
        let hello = ServerFrame::Hello(Hello {
            heartbeat_interval_ms: millis(self.streams.limits.heartbeat_interval),
            node: self.streams.node.0,
            connection_id: meta.id.0,
            reconnect_jitter_ms: millis(self.streams.limits.reconnect_jitter),
        });
        let feed = Feed::new(opened, Arc::clone(&self.streams.catchup));
        let code = match self.put(data(&Encoded::frame(hello)), None).await {
            Ok(()) => self.carry(feed).await,
            Err(code) => code,
        };
        self.say_goodbye(code).await;
        self.streams.realtime.closed(code.code());
        open.dec();
    }

    async fn carry(&mut self, mut feed: Feed) -> CloseCode {
        let limit = self.streams.limits.behind_limit;
        let mut batch = Vec::new();
        loop {
            batch.clear();
            let fed = {
                // Kept over the comments between: dropped in the middle it would forget that streams lag.
                let mut next = std::pin::pin!(feed.next(&mut batch));
                loop {
                    tokio::select! {
                        fed = &mut next => break fed,
                        () = self.sender.closed() => return CloseCode::GoingAway,
                        turn = self.streams.sessions.turn(&mut self.term) => match turn {
                            Turn::Ask(within) => {
                                let asked = RefreshAsked { within_ms: millis(within) };
                                let asked = data(&Encoded::frame(ServerFrame::Refresh(asked)));
                                if let Err(code) = put(&self.sender, asked, limit).await {
                                    return code;
                                }
                            }
                            // The client comes back with its newer token and its cursors.
                            Turn::End => return CloseCode::SignInEnded,
                        },
                        () = tokio::time::sleep(self.streams.limits.heartbeat_interval) => {
                            if let Err(code) = put(&self.sender, Bytes::from_static(b": \n\n"), limit).await {
                                return code;
                            }
                        }
                    }
                }
            };
            if let Fed::Close(code) = fed {
                return code;
            }
            for encoded in &batch {
                let id = self.cursors.follow(encoded.body());
                if let Err(code) = self.put(data(encoded), id).await {
                    return code;
                }
                if let FrameBody::Event(event, path) = encoded.body() {
                    let after = Timestamp::now().duration_since(event.at);
                    self.streams.realtime.fanned_out(*path, after.try_into().unwrap_or(Duration::ZERO));
                }
            }
            if self.connection.outbox.behind_for().is_some_and(|held| held > limit) {
                return CloseCode::TooFarBehind;
            }
        }
    }

    async fn put(&self, data: Bytes, id: Option<String>) -> Result<(), CloseCode> {
        let chunk = match id {
            None => data,
            Some(id) => {
                let mut chunk = BytesMut::with_capacity(data.len() + id.len() + 5);
                chunk.put_slice(b"id: ");
                chunk.put_slice(id.as_bytes());
                chunk.put_slice(b"\n");
                chunk.put_slice(&data);
                chunk.freeze()
            }
        };
        put(&self.sender, chunk, self.streams.limits.behind_limit).await
    }

    /// Says why the stream ends; best effort.
    async fn say_goodbye(&self, code: CloseCode) {
        if code == CloseCode::NodeDrains {
            let drain = realtime::farewell(self.streams.limits.reconnect_jitter);
            if self.put(data(&Encoded::frame(drain)), None).await.is_err() {
                return;
            }
        }
        let close = serde_json::json!({ "op": "close", "code": code.code(), "reason": code.reason() });
        let chunk = Bytes::from(format!("event: close\ndata: {close}\n\n"));
        // The client may be gone, or take nothing: it is told no more.
        let _told = put(&self.sender, chunk, Duration::from_secs(1)).await;
    }
}

/// Hands a chunk to the answer's body, which takes the next when the socket took the last.
async fn put(sender: &mpsc::Sender<Bytes>, chunk: Bytes, limit: Duration) -> Result<(), CloseCode> {
    match timeout(limit, sender.send(chunk)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(CloseCode::GoingAway),
        Err(_) => Err(CloseCode::TooFarBehind),
    }
}

/// A frame as an SSE message, made once for all streams. Inside of text JSON escapes line ends. Those between its
/// tokens stay where a client put them, and would let it write lines of the stream itself, so they become blanks.
fn data(encoded: &Encoded) -> Bytes {
    encoded.bytes(Wire::Sse, |body| {
        let payload = body.payload(Encoding::Json);
        let mut message = BytesMut::with_capacity(payload.len() + 8);
        message.put_slice(b"data: ");
        message.put_slice(&payload);
        message.iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')).for_each(|byte| *byte = b' ');
        message.put_slice(b"\n\n");
        message.freeze()
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use protocol::frame::{RawJson, Run, RunChange};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn nobody_writes_lines_of_the_stream_through_a_frame() {
        // A client's JSON goes to others as it came, with what stands between its tokens.
        let ops = "[\r\n\r\n1,\n2\r,\"a\\nb\"]";
        let run = Run {
            run_id: Uuid::nil(),
            room_id: Uuid::nil(),
            agent_id: Uuid::nil(),
            epoch: 1,
            version: 2,
            status: "running".to_owned(),
            reason: None,
            cancel_requested: false,
            change: RunChange::Patch { from: 1, ops: RawJson::new(ops).unwrap() },
        };
        let message = data(&Encoded::frame(ServerFrame::Run(run)));
        let line = message.strip_prefix(b"data: ").and_then(|rest| rest.strip_suffix(b"\n\n")).unwrap();
        assert!(!line.iter().any(|byte| matches!(byte, b'\r' | b'\n')), "{message:?}");
        let frame: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(frame["ops"], serde_json::json!([1, 2, "a\nb"]));
    }
}
