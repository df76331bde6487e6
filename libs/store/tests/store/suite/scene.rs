//! A room with a person and an agent that works there: what cases of runs stand on.

use std::ops::Deref;

use domain::{AgentId, Event, EventKind, Principal, RoomId, RunId, RunStatus, SlotSessionId, UserId};
use store::StoreError;
use store::agents::NewAgent;
use store::consumers::{ConsumerOutcome, ConsumerSlot, TakeConsumer};
use store::runs::{
    DocChange, FinishRun, Holder, Known, NewRun, Patch, PatchOutcome, RescueRules, Rescued, Run, RunCreated,
    RunUpdate, Started,
};

use super::consumers::identify;
use super::people::{HOUR, new_agent};
use super::world::World;

/// Nothing is ever due.
pub(crate) const PATIENT: RescueRules =
    RescueRules { max_attempts: 3, queue_limit: HOUR, max_runtime: HOUR, cancel_grace: HOUR };

/// A run that somebody asks for.
pub(crate) fn new_run(room: RoomId, requester: impl Into<Principal>, agent: AgentId) -> NewRun {
    NewRun {
        id: RunId::new(),
        room,
        agent,
        requester: requester.into(),
        cause: None,
        input: r#"{ "text": "water the garden" }"#.into(),
        max_hops: 3,
    }
}

impl World {
    /// An agent of somebody's, with so many places.
    pub(crate) async fn worker(&self, owner: UserId, places: u32) -> AgentId {
        let new = NewAgent { max_runs: places, ..new_agent(owner, &testkit::random::handle("w")) };
        let (agent, created) = self.store.create_agent(&new).await.expect("an agent");
        assert!(created);
        agent.id
    }

    /// Makes an agent a member, as the room's owner.
    pub(crate) async fn join(&self, owner: UserId, room: RoomId, agent: AgentId) {
        self.store.add_members(owner, room, &[agent.into()]).await.expect("events");
    }

    /// A run that must be new.
    pub(crate) async fn requested(
        &self,
        room: RoomId,
        requester: impl Into<Principal>,
        agent: AgentId,
    ) -> RunCreated {
        let created = self.store.create_run(&new_run(room, requester, agent)).await.expect("a run");
        assert!(created.created);
        created
    }
}

/// Alex, and an agent of theirs in a room.
#[derive(Clone)]
pub(crate) struct Scene {
    world: World,
    pub(crate) alex: UserId,
    pub(crate) agent: AgentId,
    pub(crate) room: RoomId,
}

impl Deref for Scene {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Scene {
    /// With an agent that has so many places.
    pub(crate) async fn new(world: World, places: u32) -> Self {
        let alex = world.person().await;
        let (agent, room) = (world.worker(alex, places).await, world.group(&[alex]).await);
        world.join(alex, room, agent).await;
        Self { world, alex, agent, room }
    }

    /// A run that Alex asks for.
    pub(crate) async fn run(&self) -> Run {
        self.requested(self.room, self.alex, self.agent).await.run
    }

    pub(crate) async fn runs<const N: usize>(&self) -> [Run; N] {
        let mut runs = Vec::new();
        for _ in 0..N {
            runs.push(self.run().await);
        }
        runs.try_into().expect("as many as asked for")
    }

    /// The run as Alex sees it.
    pub(crate) async fn see(&self, run: RunId) -> Run {
        self.store.run(self.alex.into(), run).await.expect("an answer").expect("a run of the room")
    }

    pub(crate) async fn hold(&self) -> ConsumerSlot {
        self.take(&identify(self.agent, "main")).await.0
    }

    pub(crate) async fn take(&self, attempt: &TakeConsumer) -> (ConsumerSlot, Vec<Event>, Vec<RunId>) {
        match self.store.take_consumer(attempt).await.expect("an answer") {
            ConsumerOutcome::Taken { slot, events, runs } => (slot, events, runs),
            other => panic!("not taken: {other:?}"),
        }
    }

    /// Starts a run.
    pub(crate) async fn start(&self, slot: &ConsumerSlot, run: RunId) -> Started {
        self.store.start_run(slot.session, run, HOUR).await.expect("started")
    }

    /// A run that is worked on, and who works on it.
    pub(crate) async fn working(&self) -> Holder {
        let slot = self.hold().await;
        let run = self.run().await;
        self.start(&slot, run.id).await;
        holder(run.id, slot.session, 1)
    }

    pub(crate) async fn flush(&self, holder: Holder, base: u64, ops: &str) -> PatchOutcome {
        self.write(patch(holder, base, ops)).await
    }

    pub(crate) async fn write(&self, patch: Patch) -> PatchOutcome {
        let outcomes = self.store.write_patches(&[patch]).await.expect("an answer");
        assert_eq!(outcomes.len(), 1);
        outcomes[0]
    }

    pub(crate) async fn finish(
        &self,
        holder: Holder,
        status: RunStatus,
    ) -> Result<(Run, Vec<Event>), StoreError> {
        self.store.finish_run(&finish(holder, status)).await
    }

    pub(crate) async fn cancel(&self, run: RunId) -> Result<(Run, Vec<Event>), StoreError> {
        self.store.cancel_run(self.alex.into(), run).await
    }

    pub(crate) async fn rescue(&self, rules: RescueRules) -> Rescued {
        self.store.rescue_runs(&rules, 100).await.expect("an answer")
    }

    /// What somebody lacks who knows this much.
    pub(crate) async fn update(&self, run: RunId, epoch: u64, version: u64) -> RunUpdate {
        let mut updates = self.store.run_updates(&[Known { run, epoch, version }]).await.expect("an answer");
        assert_eq!(updates.len(), 1);
        updates.remove(0)
    }

    /// What the agent is told of runs.
    pub(crate) async fn heard(&self) -> Vec<Event> {
        let events = self.inbox(self.agent).await;
        events.into_iter().filter(|event| event.kind != EventKind::RoomAdded).collect()
    }
}

pub(crate) fn holder(run: RunId, session: SlotSessionId, epoch: u64) -> Holder {
    Holder { run, session, epoch }
}

pub(crate) fn patch(holder: Holder, base: u64, ops: &str) -> Patch {
    Patch { holder, base, ops: ops.into(), snapshot: None }
}

pub(crate) fn snapshot(holder: Holder, base: u64, ops: &str, doc: &str) -> Patch {
    Patch { snapshot: Some(doc.into()), ..patch(holder, base, ops) }
}

pub(crate) fn finish(holder: Holder, status: RunStatus) -> FinishRun {
    let error = (status == RunStatus::Failed).then(|| "no water".to_owned());
    FinishRun { holder, status, error, base: 1, doc: r#"{"items":[{"id":"1"}]}"#.into() }
}

/// A version and the text that leads there, or stands there.
type Versioned<'a> = (u64, &'a str);

/// Patches, and the whole document before them if it is given.
pub(crate) fn news(change: &DocChange) -> (Option<Versioned<'_>>, Vec<Versioned<'_>>) {
    let (whole, patches) = match change {
        DocChange::Patches(patches) => (None, patches),
        DocChange::Whole(doc) => (Some((doc.version, &*doc.doc)), &doc.patches),
    };
    (whole, patches.iter().map(|patch| (patch.version, &*patch.ops)).collect())
}

/// Somebody is notified of it.
pub(crate) const NOTIFIED: (&str, &str) = ("user", "notification.created");

/// Streams and kinds of events, to be compared with a list.
pub(crate) fn told(events: &[Event]) -> Vec<(&'static str, &str)> {
    events.iter().map(|event| (event.stream.kind.as_str(), event.kind.as_str())).collect()
}
