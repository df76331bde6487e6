//! Agents of a test, by the routes and frames that any agent has.

use client::Credential;
use domain::{AgentId, DeviceId, RoomId, RunId};
use protocol::frame::{
    Ack, Cursors, Event, Identify, RawJson, Resume, Run, RunChange, RunFinish, RunPatch, RunStart, Slot,
};
use protocol::{ClientFrame, Encoding, ServerFrame};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::wire::{Wire, data};
use crate::world::{Person, World};

/// An agent with its token.
#[derive(Debug, Clone)]
pub(crate) struct Robot {
    pub(crate) id: AgentId,
    pub(crate) handle: String,
    pub(crate) token: String,
}

/// A call of the REST side with a bearer token: the status and the body.
pub(crate) async fn rest(
    base: &str,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let method = method.parse().expect("a method");
    let mut request = reqwest::Client::new().request(method, format!("{base}{path}")).bearer_auth(token);
    if let Some(body) = body {
        request = request.json(body);
    }
    let answer = request.send().await.unwrap_or_else(|error| panic!("{path}: {error}"));
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap_or_else(|error| panic!("{path}: {error}"));
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

impl Person {
    /// A call by REST in this person's name, at the node of their [`Person::api`].
    pub(crate) async fn rest(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let token = self.api.access_token().expect("signed in");
        rest(self.api.base().trim_end_matches('/'), &token, method, path, body).await
    }

    /// Makes an agent.
    pub(crate) async fn robot(&self, handle: &str) -> Robot {
        self.robot_with(json!({ "handle": handle })).await
    }

    /// Makes an agent as the body says.
    pub(crate) async fn robot_with(&self, body: Value) -> Robot {
        let (status, made) = self.rest("POST", "/v1/agents", Some(&body)).await;
        assert_eq!(status, 201, "{made}");
        Robot {
            id: made["id"].as_str().expect("an id").parse().expect("an id"),
            handle: made["handle"].as_str().expect("a handle").to_owned(),
            token: made["token"].as_str().expect("a token").to_owned(),
        }
    }

    /// Adds an agent to a room.
    pub(crate) async fn invite(&self, robot: &Robot, room: RoomId) {
        let (status, said) = self
            .rest("POST", &format!("/v1/rooms/{room}/members"), Some(&json!({ "agent_id": robot.id })))
            .await;
        assert!((200..300).contains(&status), "{status} {said}");
    }

    /// Asks an agent for a run.
    pub(crate) async fn ask(&self, robot: &Robot, room: RoomId, input: &str) -> RunId {
        let body = json!({ "agent_id": robot.id, "input": input });
        let (status, run) = self.rest("POST", &format!("/v1/rooms/{room}/runs"), Some(&body)).await;
        assert_eq!(status, 201, "{run}");
        run["id"].as_str().expect("an id").parse().expect("an id")
    }

    /// A run as it stands.
    pub(crate) async fn run(&self, run: RunId) -> Value {
        let (status, run) = self.rest("GET", &format!("/v1/runs/{run}"), None).await;
        assert_eq!(status, 200, "{run}");
        run
    }
}

impl Robot {
    /// A call by REST in this agent's name.
    pub(crate) async fn rest(
        &self,
        world: &World,
        api: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        rest(world.cluster.api_url(api).trim_end_matches('/'), &self.token, method, path, body).await
    }

    /// A connection that has had `hello`.
    pub(crate) async fn hello(&self, world: &World, gateway: usize) -> Wire {
        let credential = Credential::Bearer(self.token.clone());
        let url = world.cluster.gateway_url(gateway);
        Wire::open(&url, &credential, Encoding::Json)
            .await
            .unwrap_or_else(|error| panic!("no connection: {error}"))
    }

    /// A consumer, identified; its replay has not been read.
    pub(crate) async fn identify(&self, world: &World, gateway: usize, name: &str) -> Wire {
        let mut wire = self.hello(world, gateway).await;
        wire.say(&consumer(name)).await;
        wire.until_ready().await;
        wire
    }

    /// A consumer, live.
    pub(crate) async fn consumer(&self, world: &World, gateway: usize, name: &str) -> Wire {
        let mut wire = self.identify(world, gateway, name).await;
        wire.until_live().await;
        wire
    }

    /// A session that goes on at this gateway, if there is one and it takes it.
    pub(crate) async fn try_resume(&self, url: &str, session_id: Uuid) -> Option<Wire> {
        let credential = Credential::Bearer(self.token.clone());
        let mut wire = Wire::open(url, &credential, Encoding::Json).await.ok()?;
        let resume = Resume { session_id, cursors: Cursors::default(), log_epoch: None };
        wire.try_say(&ClientFrame::Resume(resume)).await.ok()?;
        while wire.try_ready().is_none() {
            wire.received().await.ok()?;
        }
        Some(wire)
    }

    /// A session that goes on at another gateway; what came with `ready` has not been read.
    pub(crate) async fn resume(&self, world: &World, gateway: usize, session_id: Uuid) -> Wire {
        let mut wire = self.hello(world, gateway).await;
        let resume = Resume { session_id, cursors: Cursors::default(), log_epoch: None };
        wire.say(&ClientFrame::Resume(resume)).await;
        wire.until_ready().await;
        wire
    }
}

/// Identifies as a consumer.
pub(crate) fn consumer(name: &str) -> ClientFrame {
    let slot = Slot::Consumer(name.to_owned());
    ClientFrame::Identify(Identify { slot, cursors: Cursors::default(), log_epoch: None })
}

impl Person {
    /// A device at this gateway, live, if there is one and it takes it.
    pub(crate) async fn try_connect(&self, url: &str, device: DeviceId) -> Option<Wire> {
        let ticket = Credential::Ticket(self.api.ticket().await.ok()?.ticket);
        let mut wire = Wire::open(url, &ticket, Encoding::Json).await.ok()?;
        wire.try_say(&crate::wire::identify(device)).await.ok()?;
        while wire.received().await.ok()? != ServerFrame::Live {}
        Some(wire)
    }
}

impl Wire {
    /// The next request for a run; gives the run and the seq of the event.
    pub(crate) async fn requested(&mut self) -> (RunId, Event) {
        let event = self.event_of("run.requested").await;
        (run_of(&event), event)
    }

    /// Starts a run; gives its epoch.
    pub(crate) async fn start(&mut self, run: RunId) -> u64 {
        self.say(&ClientFrame::RunStart(RunStart { run_id: run.0 })).await;
        let frame = self.run_frame(run).await;
        assert_eq!(frame.status, "running");
        frame.epoch
    }

    /// Changes the document of a run.
    pub(crate) fn patch(&self, run: RunId, epoch: u64, ops: &Value) -> impl Future<Output = ()> + use<> {
        self.say(&ClientFrame::RunPatch(RunPatch { run_id: run.0, epoch, ops: raw(ops) }))
    }

    /// The same, if the connection is still open.
    pub(crate) fn try_patch(
        &self,
        run: RunId,
        epoch: u64,
        ops: &Value,
    ) -> impl Future<Output = Result<(), client::SocketError>> + use<> {
        self.try_say(&ClientFrame::RunPatch(RunPatch { run_id: run.0, epoch, ops: raw(ops) }))
    }

    /// Ends a run and waits for the answer.
    pub(crate) async fn finish(&mut self, run: RunId, epoch: u64, status: &str, ops: Option<&Value>) -> Run {
        let (status, ops) = (status.to_owned(), ops.map(raw));
        self.say(&ClientFrame::RunFinish(RunFinish { run_id: run.0, epoch, status, ops, error: None })).await;
        loop {
            let frame = self.run_frame(run).await;
            if frame.status != "running" && frame.status != "waiting" {
                return frame;
            }
        }
    }

    /// Ends a run that may not be ended so; gives the code of the refusal.
    pub(crate) async fn refused_finish(&mut self, run: RunId, epoch: u64, status: &str) -> String {
        let status = status.to_owned();
        self.say(&ClientFrame::RunFinish(RunFinish { run_id: run.0, epoch, status, ops: None, error: None }))
            .await;
        self.find(|frame| match frame {
            ServerFrame::Error(error) if error.run_id == Some(run.0) => Some(error.code.clone()),
            ServerFrame::Run(about) if about.run_id == run.0 => panic!("{about:?}"),
            _ => None,
        })
        .await
    }

    /// Acknowledges, and waits until that is done.
    pub(crate) async fn ack(&mut self, seq: u64) {
        self.say(&ClientFrame::Ack(Ack { seq })).await;
        let acked = self
            .find(|frame| match frame {
                ServerFrame::Acked(acked) => Some(acked.seq),
                ServerFrame::Error(error) => panic!("{error:?}"),
                _ => None,
            })
            .await;
        assert!(acked >= seq);
    }

    /// The next frame about a run.
    pub(crate) async fn run_frame(&mut self, run: RunId) -> Run {
        self.find(|frame| match frame {
            ServerFrame::Run(about) if about.run_id == run.0 => Some(about.clone()),
            ServerFrame::Error(error) if error.run_id == Some(run.0) => panic!("{error:?}"),
            _ => None,
        })
        .await
    }
}

/// The run that an event names.
pub(crate) fn run_of(event: &Event) -> RunId {
    data(event)["run_id"].as_str().expect("a run").parse().expect("an id")
}

/// JSON of a frame.
pub(crate) fn raw(value: &Value) -> RawJson {
    RawJson::new(value.to_string()).expect("JSON")
}

/// A text item to begin with.
pub(crate) fn text_item(id: &str) -> Value {
    json!({ "op": "add", "path": "/items/-", "value": { "id": id, "type": "text", "text": "" } })
}

/// More text of the first item.
pub(crate) fn append(text: &str) -> Value {
    json!({ "op": "append", "path": "/items/0/text", "value": text })
}

/// The document of a run as a watcher has it.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) document: domain::document::Document,
    pub(crate) epoch: u64,
    pub(crate) version: u64,
    pub(crate) status: String,
}

impl Watched {
    /// Takes a frame as the protocol says: a patch only on exactly its version. Panics where a server may not send it.
    pub(crate) fn take(&mut self, run: &Run) {
        match &run.change {
            RunChange::Doc(doc) => {
                self.document = domain::document::Document::parse(doc.get()).expect("a document");
            }
            RunChange::Patch { from, ops } => {
                assert_eq!((self.epoch, self.version), (run.epoch, *from), "a patch that does not follow on");
                let ops = domain::document::parse_ops(ops.get()).expect("operations");
                self.document.replay(&ops).expect("operations that fit");
            }
        }
        (self.epoch, self.version) = (run.epoch, run.version);
        self.status = run.status.clone();
    }

    /// The text of the first item.
    pub(crate) fn text(&self) -> &str {
        self.document.value()["items"][0]["text"].as_str().unwrap_or_default()
    }
}
