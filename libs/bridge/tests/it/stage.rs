//! A room, its gateway and its API, with an agent at work.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use axum::{Json, Router};
use bridge::{Bridge, BridgeSettings, Model, ModelSettings, Patience};
use client::consumer::{Work, serve};
use client::{Api, ConsumerSettings};
use domain::Document;
use domain::document::parse_ops;
use parking_lot::Mutex;
use protocol::frame::{CallTool, Event, RawJson, Run, RunChange, Sender, ToolCalled};
use protocol::{ClientFrame, ServerFrame};
use serde_json::{Value, json};
use testkit::model::FakeModel;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::fake::{Gateway, ME, Peer, ROOM, SESSION, agent_ready, agent_stream, hello};

pub(crate) const ALEX: Uuid = Uuid::from_u128(11);
pub(crate) const SAM: Uuid = Uuid::from_u128(12);
pub(crate) const RUN: Uuid = Uuid::from_u128(100);
pub(crate) const STALL: Duration = Duration::from_millis(300);

/// What the API knows.
#[derive(Default)]
pub(crate) struct Room {
    events: Vec<Event>,
    runs: Vec<Value>,
    /// So many requests are answered with 503.
    pub(crate) trouble: u32,
    pub(crate) asked: Vec<String>,
}

type Shared = Arc<Mutex<Room>>;

impl Room {
    pub(crate) fn add(&mut self, sender: (&str, Uuid), kind: &str, data: &Value) -> Uuid {
        let seq = self.events.len() as u64 + 1;
        let id = Uuid::from_u128(u128::from(seq) + 1000);
        self.events.push(Event {
            stream: format!("room:{ROOM}"),
            seq,
            id,
            kind: kind.to_owned(),
            at: "2026-11-30T12:00:00.000000Z".to_owned(),
            sender: Sender { kind: sender.0.to_owned(), id: Some(sender.1) },
            data: RawJson::new(data.to_string()).unwrap(),
        });
        id
    }

    pub(crate) fn says(&mut self, who: Uuid, body: &str) -> Uuid {
        self.add(("user", who), "message.created", &json!({ "body": body }))
    }

    /// A run that an agent had, with what it was asked and its texts.
    pub(crate) fn ran(&mut self, run: u128, agent: Uuid, status: &str, input: &str, texts: &[&str]) {
        let run = Uuid::from_u128(run);
        self.add(("user", ALEX), "run.created", &json!({ "run_id": run, "agent_id": agent }));
        let items = texts
            .iter()
            .enumerate()
            .map(|(at, text)| json!({ "id": at.to_string(), "type": "text", "text": text }));
        let doc = json!({ "items": items.collect::<Vec<_>>() });
        self.runs.push(json!({
            "id": run, "room_id": ROOM, "agent_id": agent, "status": status, "epoch": 1, "version": 1, "doc": doc,
            "requested_by": { "kind": "user", "id": ALEX }, "input": input,
        }));
    }
}

async fn events(State(room): State<Shared>, uri: Uri) -> Result<Json<Value>, StatusCode> {
    let mut room = room.lock();
    room.asked.push(uri.to_string());
    if room.trouble > 0 {
        room.trouble -= 1;
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    let query = uri.query().unwrap_or_default();
    let value = |name: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    };
    let (before, limit) = (value("before").unwrap_or(usize::MAX), value("limit").unwrap());
    let end = room.events.len().min(before - 1);
    let items = &room.events[end.saturating_sub(limit)..end];
    Ok(Json(json!({ "items": items, "next": null, "floor": 0, "head": room.events.len() })))
}

async fn run(State(room): State<Shared>, Path(id): Path<Uuid>) -> Result<Json<Value>, StatusCode> {
    let room = room.lock();
    room.runs.iter().find(|run| run["id"] == json!(id)).cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn agent(Path(id): Path<String>) -> Json<Value> {
    let (id, name) = match id.as_str() {
        "me" => (ME, "Helper"),
        id => (id.parse().unwrap(), "Other"),
    };
    Json(json!({
        "id": id, "handle": name.to_lowercase(), "display_name": name, "owner_id": ALEX, "max_runs": 4, "revoked": false,
    }))
}

async fn user(Path(id): Path<Uuid>) -> Json<Value> {
    let name = if id == ALEX { "Alex" } else { "Sam" };
    Json(json!({ "id": id, "handle": name.to_lowercase(), "display_name": name, "role": "user" }))
}

/// An agent that is connected.
pub(crate) struct Stage {
    pub(crate) model: FakeModel,
    pub(crate) room: Shared,
    pub(crate) peer: Peer<TcpStream>,
    seq: u64,
    _gateway: Gateway,
    _stop: DropGuard,
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Went {
    pub(crate) status: String,
    pub(crate) error: Option<String>,
    pub(crate) items: Value,
}

impl Stage {
    pub(crate) async fn bridge(settings: BridgeSettings) -> Self {
        let (model, room) = (FakeModel::start().await, Shared::default());
        let asked = Model::new(ModelSettings {
            base_url: model.url().to_owned(),
            model: "m".to_owned(),
            key: Some("sk-secret".to_owned()),
            stall_timeout: STALL,
            patience: Patience {
                attempts: 3,
                first: Duration::from_millis(10),
                most: Duration::from_secs(1),
            },
        });
        let api = api(Arc::clone(&room)).await;
        Self::with(model, room, Bridge::new(api, asked.unwrap(), settings)).await
    }

    pub(crate) async fn with(model: FakeModel, room: Shared, work: impl Work) -> Self {
        let gateway = Gateway::start().await;
        let settings = ConsumerSettings::new(vec![gateway.url.clone()], "token", "main");
        let stop = CancellationToken::new();
        tokio::spawn(serve(settings, Arc::new(work), stop.clone(), Duration::ZERO));
        let mut peer = gateway.accept().await;
        peer.send(&hello()).await;
        peer.frame().await;
        peer.send(&agent_ready(SESSION, 0)).await;
        peer.send(&ServerFrame::Live).await;
        Self { model, room, peer, seq: 0, _gateway: gateway, _stop: stop.drop_guard() }
    }

    pub(crate) async fn event(&mut self, kind: &str, data: &Value) {
        self.seq += 1;
        let event = Event {
            stream: agent_stream(),
            seq: self.seq,
            id: Uuid::from_u128(self.seq.into()),
            kind: kind.to_owned(),
            at: "2026-11-30T12:00:00.000000Z".to_owned(),
            sender: Sender { kind: "user".to_owned(), id: Some(ALEX) },
            data: RawJson::new(data.to_string()).unwrap(),
        };
        self.peer.send(&ServerFrame::Event(event)).await;
    }

    /// Asks for a run, and starts it.
    pub(crate) async fn ask(&mut self, input: &str) {
        self.event("run.requested", &json!({ "run_id": RUN, "room_id": ROOM, "input": input })).await;
        while !matches!(self.peer.frame().await, ClientFrame::RunStart(_)) {}
        self.show("running", &json!({ "items": [] })).await;
    }

    async fn show(&mut self, status: &str, doc: &Value) {
        let run = Run {
            run_id: RUN,
            room_id: ROOM,
            agent_id: ME,
            epoch: 1,
            version: 1,
            status: status.to_owned(),
            reason: None,
            cancel_requested: false,
            change: RunChange::Doc(RawJson::new(doc.to_string()).unwrap()),
        };
        self.peer.send(&ServerFrame::Run(run)).await;
    }

    /// Follows the run to its end, and answers tool calls.
    pub(crate) async fn answering(&mut self, tool: impl Fn(&CallTool) -> Value) -> Went {
        let mut doc = Document::empty();
        let mut apply = |ops: &RawJson| doc.apply(&parse_ops(ops.get()).unwrap(), 1 << 20).unwrap();
        loop {
            match self.peer.frame().await {
                ClientFrame::RunPatch(patch) => apply(&patch.ops),
                ClientFrame::RunFinish(finish) => {
                    finish.ops.iter().for_each(&mut apply);
                    self.show(&finish.status, doc.value()).await;
                    let items = doc.value()["items"].clone();
                    return Went { status: finish.status, error: finish.error, items };
                }
                ClientFrame::ToolCall(call) => {
                    let id = Uuid::now_v7();
                    let mut resolved = tool(&call);
                    resolved["call_id"] = json!(id);
                    resolved["run_id"] = json!(RUN);
                    self.peer
                        .send(&ServerFrame::ToolCalled(ToolCalled { call_id: id, nonce: call.nonce }))
                        .await;
                    self.event("tool.resolved", &resolved).await;
                }
                _ => {}
            }
        }
    }

    /// Follows the run to its end; no tool is called.
    pub(crate) async fn ends(&mut self) -> Went {
        self.answering(|call| panic!("{call:?}")).await
    }

    /// Follows the run until its document has this text in its first item.
    pub(crate) async fn until_shown(&mut self, text: &str) {
        let mut doc = Document::empty();
        while doc.value()["items"][0]["text"] != text {
            if let ClientFrame::RunPatch(patch) = self.peer.frame().await {
                doc.apply(&parse_ops(patch.ops.get()).unwrap(), 1 << 20).unwrap();
            }
        }
    }
}

async fn api(room: Shared) -> Api {
    let router = Router::new()
        .route("/v1/rooms/{id}/events", get(events))
        .route("/v1/runs/{id}", get(run))
        .route("/v1/agents/{id}", get(agent))
        .route("/v1/users/{id}", get(user))
        .with_state(room);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Api::new(&base).unwrap().with_token("token")
}
