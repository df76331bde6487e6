//! Agents at work on the node under test: a consumer as a gateway would have it, without the socket.

use std::sync::Arc;
use std::time::Duration;

use domain::run::FinishStatus;
use domain::{AgentId, ConnectionId, NodeId, RequestId, RunId, SlotSessionId};
use operations::{EndRun, Operations};
use protocol::ServerFrame;
use protocol::frame::{AutocompleteRequest, Cursors, RawJson};
use realtime::{Alone, Begin, Body, CatchUp, ConnectionMeta, Feed, Limits, Opening, SessionLimits, Sessions};
use serde_json::{Value, json};
use store::agents::TokenStanding;

use crate::app::{Agent, Person, TestApp};

/// A consumer that holds its agent's place.
pub(crate) struct Consumer {
    agent: AgentId,
    session: SlotSessionId,
    operations: Operations,
    feed: Feed,
}

/// A room of Alex and Sam with an agent that works on a run Alex asked for.
pub(crate) struct Work {
    pub(crate) alex: Person,
    pub(crate) sam: Person,
    pub(crate) agent: Agent,
    pub(crate) room: String,
    pub(crate) run: String,
    pub(crate) epoch: u64,
    pub(crate) consumer: Consumer,
}

impl TestApp {
    /// A group of these people, the first of them owns it, with an agent of the owner.
    pub(crate) async fn group_with_agent(&self, owner: &Person, others: &[&Person]) -> (String, Agent) {
        let room = self.group(owner, others).await;
        let agent = self.agent(owner, "helper").await;
        self.invite(owner, &room, &agent).await;
        (room, agent)
    }

    pub(crate) async fn invite(&self, owner: &Person, room: &str, agent: &Agent) {
        let body = json!({ "agent_id": agent.id });
        self.post(&format!("/v1/rooms/{room}/members")).by(owner).json(&body).expect(201).await;
    }

    /// Asks for a run; gives its id.
    pub(crate) async fn ask(&self, person: &Person, room: &str, agent: &Agent) -> String {
        let body = json!({ "agent_id": agent.id, "input": "what is for lunch?" });
        self.post(&format!("/v1/rooms/{room}/runs")).by(person).json(&body).expect(201).await.text("id")
    }

    pub(crate) async fn at_work(&self) -> Work {
        let (alex, sam) = (self.person("alex").await, self.person("sam").await);
        let (room, agent) = self.group_with_agent(&alex, &[&sam]).await;
        let consumer = self.consumer(&agent).await;
        let run = self.ask(&alex, &room, &agent).await;
        let epoch = consumer.start(&run).await;
        Work { alex, sam, agent, room, run, epoch, consumer }
    }

    pub(crate) async fn consumer(&self, agent: &Agent) -> Consumer {
        let operations = self.operations.clone();
        let (hub, store) = (operations.announcer().hub(), operations.store());
        let limits = SessionLimits {
            outbox: Limits { frames: 256, bytes: 1 << 20 },
            at_once: 1,
            consumer_live: Duration::from_secs(60),
        };
        let sessions =
            Sessions::new(Arc::clone(hub), Arc::clone(store), Arc::new(Alone), NodeId::new(), limits);
        let TokenStanding::Good(signed_in) =
            store.agent_by_token(&auth::secret::hash(&agent.token)).await.unwrap()
        else {
            panic!("{agent:?} can't sign in");
        };
        let id = signed_in.agent.id;
        let meta = ConnectionMeta { id: ConnectionId::new(), principal: id.into(), session: signed_in.token };
        let opening =
            Opening { begin: Begin::Consumer("main".into()), cursors: Cursors::default(), log_epoch: None };
        let opened = sessions.open(meta, &opening).await.unwrap();
        let session = opened.connection.hold.session().unwrap();
        let feed = Feed::new(opened, CatchUp::new(Arc::clone(hub), Arc::clone(store), 1, 100, 200));
        operations.consumer_came(id).await;
        Consumer { agent: id, session, operations, feed }
    }
}

impl Consumer {
    /// Starts a run; gives its epoch.
    pub(crate) async fn start(&self, run: &str) -> u64 {
        self.operations.start_run(self.session, id(run)).await.unwrap().run.epoch
    }

    /// Changes the document of a run.
    pub(crate) async fn patch(&self, run: &str, epoch: u64, ops: &Value) {
        self.operations.patch_run(self.session, id(run), epoch, &raw(ops)).await.unwrap();
    }

    /// Ends a run.
    pub(crate) async fn finish(&self, run: &str, epoch: u64, status: FinishStatus, error: Option<&str>) {
        let error = error.map(str::to_owned);
        let end = EndRun { run: id(run), epoch, status, error, ops: None };
        self.operations.finish_run(self.agent, self.session, end).await.unwrap();
    }

    /// The next question of somebody who types a command.
    pub(crate) async fn question(&mut self) -> AutocompleteRequest {
        let mut batch = Vec::new();
        loop {
            batch.clear();
            let fed = self.feed.next(&mut batch).await;
            assert!(matches!(fed, realtime::Fed::Frames), "{fed:?}");
            for frame in &batch {
                if let Body::Frame(ServerFrame::Autocomplete(asked)) = frame.body() {
                    return asked.clone();
                }
            }
        }
    }

    pub(crate) async fn answer(&self, asked: &AutocompleteRequest, choices: &str) {
        let choices = RawJson::new(choices).unwrap();
        self.operations.answer(self.agent, RequestId(asked.request_id), &choices).await.unwrap();
    }
}

impl Work {
    /// Ends the run.
    pub(crate) async fn finish(&self, status: FinishStatus) {
        self.consumer.finish(&self.run, self.epoch, status, None).await;
    }

    /// A call of a tool in Alex's browser.
    pub(crate) fn call(&self) -> Value {
        json!({ "tool": "open_page", "args": { "url": "https://example.com/menu" }, "user_id": self.alex.id })
    }
}

fn id(run: &str) -> RunId {
    run.parse().unwrap()
}

fn raw(value: &Value) -> RawJson {
    RawJson::new(value.to_string()).unwrap()
}
