//! The agent's side of a connection.

mod losses;
mod runs;
mod serve;
mod tools;

use std::time::Duration;

use client::consumer::{Consumer, Happening, Happenings, Received, RunHandle};
use client::session::Backoff;
use client::{ConsumerSettings, State};
use domain::{Document, RunId};
use protocol::frame::{Event, RawJson, Run, RunChange, Sender};
use protocol::{ClientFrame, ServerFrame};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::fake::{Gateway, ME, PATIENCE, Peer, ROOM, agent_ready, agent_stream, hello};

const RUN: RunId = RunId(Uuid::from_u128(10));
const ALEX: Uuid = Uuid::from_u128(11);
const FIRST: Uuid = Uuid::from_u128(21);
const SECOND: Uuid = Uuid::from_u128(22);

fn settings(gateways: &[&Gateway]) -> ConsumerSettings {
    let urls = gateways.iter().map(|gateway| gateway.url.clone()).collect();
    let backoff = Backoff { first: Duration::from_millis(20), most: Duration::from_millis(200) };
    ConsumerSettings { backoff, ..ConsumerSettings::new(urls, "token", "main") }
}

/// Takes the next connection and signs it in, without `live`.
async fn accept(gateway: &Gateway, session: Uuid) -> (Peer<TcpStream>, ClientFrame) {
    let mut peer = gateway.accept().await;
    peer.send(&hello()).await;
    let first = peer.frame().await;
    peer.send(&agent_ready(session, 30)).await;
    (peer, first)
}

async fn accept_live(gateway: &Gateway, session: Uuid) -> (Peer<TcpStream>, ClientFrame) {
    let (mut peer, first) = accept(gateway, session).await;
    peer.send(&ServerFrame::Live).await;
    (peer, first)
}

fn event(seq: u64, kind: &str, data: &Value) -> ServerFrame {
    ServerFrame::Event(Event {
        stream: agent_stream(),
        seq,
        id: Uuid::from_u128(seq.into()),
        kind: kind.to_owned(),
        at: "2026-11-30T12:00:00.000000Z".to_owned(),
        sender: Sender { kind: "user".to_owned(), id: Some(ALEX) },
        data: RawJson::new(data.to_string()).unwrap(),
    })
}

fn requested(seq: u64) -> ServerFrame {
    event(seq, "run.requested", &json!({ "run_id": RUN, "room_id": ROOM, "input": { "text": "hello" } }))
}

/// A `run` frame with its document.
fn run(epoch: u64, status: &str, doc: &Value) -> Run {
    Run {
        run_id: RUN.0,
        room_id: ROOM,
        agent_id: ME,
        epoch,
        version: 1,
        status: status.to_owned(),
        reason: None,
        cancel_requested: false,
        change: RunChange::Doc(RawJson::new(doc.to_string()).unwrap()),
    }
}

fn empty() -> Value {
    json!({ "items": [] })
}

fn text(text: &str) -> Value {
    json!({ "id": "a", "type": "text", "text": text })
}

async fn next(happenings: &mut Happenings) -> Received {
    tokio::time::timeout(PATIENCE, happenings.next()).await.expect("something").expect("not the end")
}

/// Starts the run with the peer's consent.
async fn start(consumer: &Consumer, peer: &mut Peer<TcpStream>) -> RunHandle {
    let (run, ()) = tokio::join!(consumer.start(RUN), async {
        let frame = peer.frame().await;
        assert!(matches!(&frame, ClientFrame::RunStart(start) if start.run_id == RUN.0), "{frame:?}");
        peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
    });
    run.unwrap()
}

/// What the server has of a document while patches come.
struct Copy(Document);

impl Copy {
    fn new() -> Self {
        Self(Document::empty())
    }

    fn apply(&mut self, ops: &RawJson) {
        let ops = domain::document::parse_ops(ops.get()).unwrap();
        self.0.apply(&ops, 1 << 20).unwrap();
    }

    /// Takes patches until the document is this one.
    async fn until(&mut self, peer: &mut Peer<TcpStream>, doc: &Value) {
        while self.0.value() != doc {
            match peer.frame().await {
                ClientFrame::RunPatch(patch) => self.apply(&patch.ops),
                other => panic!("a patch, not {other:?}"),
            }
        }
    }
}
