//! Ten who do anything at any time, with the tables looked at meanwhile: what must be true at every commit is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::run::Reason;
use domain::{AgentId, Principal, RoomId, RunStatus, ToolCallId, UserId};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use store::StoreError;
use store::agents::AgentSettings;
use store::consumers::{ConsumerOutcome, ConsumerSlot};
use store::runs::{FinishRun, Holder, NewRun, Patch, PatchOutcome, RescueRules};
use store::tools::{NewToolCall, Resolution};
use testkit::postgres::TestDatabase;

use super::without_deadlocks;
use crate::suite::consumers::{identify, resume};
use crate::suite::people::HOUR;
use crate::suite::scene::new_run;
use crate::suite::world::{World, assert_whole, message};

const TASKS: u64 = 10;
const STEPS: usize = 100;

/// What nobody may ever find, with the name of the rule.
const NEVER: &[(&str, &str)] = &[
    (
        "more runs have a place than there are places",
        "SELECT agents.id FROM agents JOIN runs ON runs.agent_id = agents.id
         WHERE runs.offered_at IS NOT NULL AND runs.status IN ('queued', 'running', 'waiting')
         GROUP BY agents.id HAVING count(*) > max(agents.max_runs)",
    ),
    (
        "a place is free while a run waits for one",
        "SELECT agents.id FROM agents JOIN runs ON runs.agent_id = agents.id
         WHERE runs.status IN ('queued', 'running', 'waiting')
         GROUP BY agents.id
         HAVING count(*) FILTER (WHERE offered_at IS NULL) > 0
             AND count(*) FILTER (WHERE offered_at IS NOT NULL) < max(agents.max_runs)",
    ),
    (
        "a run was offered before an older one",
        "SELECT late.id FROM runs AS late JOIN runs AS early USING (agent_id)
         WHERE late.offered_at IS NOT NULL AND early.offered_at IS NULL AND early.status = 'queued'
             AND (early.created_at, early.id) < (late.created_at, late.id)",
    ),
    (
        "a run is worked on by nobody who holds a place of its agent",
        "SELECT id FROM runs WHERE status IN ('running', 'waiting') AND NOT EXISTS (
             SELECT FROM agent_consumer_cursors AS consumer
             WHERE consumer.holder_session_id = runs.holder_session_id AND consumer.agent_id = runs.agent_id
         )",
    ),
    (
        "a queued run has a holder or a lease",
        "SELECT id FROM runs WHERE status = 'queued' AND (holder_session_id IS NOT NULL OR lease_until IS NOT NULL)",
    ),
    (
        "an end without its time, or a time without an end",
        "SELECT id FROM runs WHERE (finished_at IS NULL) <> (status IN ('queued', 'running', 'waiting'))",
    ),
    (
        "waiting is not what is pending",
        "SELECT id FROM runs WHERE (status = 'waiting') <> EXISTS (
             SELECT FROM tool_calls WHERE tool_calls.run_id = runs.id AND tool_calls.status = 'pending'
         )",
    ),
    (
        "patches with a hole, or beyond the version",
        "SELECT run_id FROM run_patches JOIN runs ON runs.id = run_id
         GROUP BY run_id, runs.version
         HAVING max(run_patches.version) > runs.version
             OR count(*) <> max(run_patches.version) - min(run_patches.version) + 1",
    ),
    (
        "patches of a former execution",
        "SELECT run_id FROM run_patches JOIN runs ON runs.id = run_id
         WHERE runs.status IN ('running', 'waiting') AND runs.epoch <> run_patches.epoch",
    ),
    (
        "a document that does not lead to its version",
        "SELECT id FROM run_documents
         WHERE status IN ('running', 'waiting') AND doc_version + cardinality(versions) <> version",
    ),
];

/// What nobody may find in the log once all is done.
const NEVER_IN_THE_END: &[(&str, &str)] = &[
    (
        "a run was not told of once",
        "SELECT runs.id FROM runs
         LEFT JOIN events ON events.stream_id = runs.room_id AND events.kind = 'run.created'
             AND events.data ->> 'run_id' = runs.id::text
         GROUP BY runs.id HAVING count(events.id) <> 1",
    ),
    (
        "an end was not told once",
        "SELECT runs.id FROM runs
         LEFT JOIN events ON events.stream_id = runs.room_id AND events.kind = 'run.finished'
             AND events.data ->> 'run_id' = runs.id::text AND events.data ->> 'status' = runs.status
         GROUP BY runs.id
         HAVING count(events.id) <> CASE WHEN runs.finished_at IS NULL THEN 0 ELSE 1 END",
    ),
    (
        "a run was started more often than its agent was asked",
        "SELECT runs.id FROM runs
         LEFT JOIN events ON events.stream_id = runs.agent_id AND events.kind = 'run.requested'
             AND events.data ->> 'run_id' = runs.id::text
         GROUP BY runs.id HAVING count(events.id) < runs.epoch",
    ),
    (
        "a cancel was not told once",
        "SELECT runs.id FROM runs
         LEFT JOIN events ON events.stream_id = runs.agent_id AND events.kind = 'run.cancel_requested'
             AND events.data ->> 'run_id' = runs.id::text
         GROUP BY runs.id
         HAVING count(events.id) <> CASE WHEN runs.cancel_requested_at IS NULL THEN 0 ELSE 1 END",
    ),
    (
        "the end of a call was not told once, to both",
        "SELECT tool_calls.id FROM tool_calls
         LEFT JOIN events ON events.stream_id IN (tool_calls.user_id, tool_calls.agent_id)
             AND events.kind = 'tool.resolved' AND events.data ->> 'call_id' = tool_calls.id::text
             AND events.data ->> 'status' = tool_calls.status
         GROUP BY tool_calls.id
         HAVING count(events.id) <> CASE WHEN tool_calls.status = 'pending' THEN 0 ELSE 2 END",
    ),
];

async fn never(database: &TestDatabase, rules: &[(&str, &str)]) {
    for (rule, sql) in rules {
        let found = database.query(sql).await;
        assert!(found.is_empty(), "{rule}: {found:?}");
    }
}

/// The people, agents and rooms that everybody acts on.
#[derive(Clone)]
struct Stage {
    world: World,
    owner: UserId,
    people: [UserId; 3],
    agents: [AgentId; 2],
    rooms: [RoomId; 2],
}

/// One who acts, and what they believe to hold.
struct Actor {
    task: u64,
    stage: Stage,
    random: StdRng,
    slots: BTreeMap<usize, ConsumerSlot>,
    held: Vec<(Holder, u64)>,
    done: usize,
}

/// Refusals are what the state of things brings. Everything else is a fault.
fn unless_refused<T>(outcome: Result<T, StoreError>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(StoreError::Refused(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

impl Actor {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.random_range(0..of.len())]
    }

    async fn step(&mut self) {
        let done = match self.random.random_range(0..24) {
            0..=3 => self.ask().await,
            4 => self.mention().await,
            5 => self.identify().await,
            6 => self.come_back().await,
            7..=11 => self.start().await,
            12..=14 => self.flush().await,
            15..=17 => self.finish().await,
            18 => self.cancel().await,
            19..=20 => self.call().await,
            21..=22 => self.answer().await,
            _ => self.tend().await,
        };
        self.done += usize::from(done.is_some());
    }

    fn new_run(&mut self) -> NewRun {
        let (room, agent) = (self.pick(&self.stage.rooms.clone()), self.pick(&self.stage.agents.clone()));
        let requester: Principal = if self.random.random_bool(0.8) {
            self.pick(&self.stage.people.clone()).into()
        } else {
            self.pick(&self.stage.agents.clone()).into()
        };
        NewRun { max_hops: 3, ..new_run(room, requester, agent) }
    }

    async fn ask(&mut self) -> Option<()> {
        let run = self.new_run();
        unless_refused(self.stage.world.store.create_run(&run).await).map(drop)
    }

    async fn mention(&mut self) -> Option<()> {
        let run = self.new_run();
        let said = message(run.room, run.requester, "please");
        let runs = self.stage.agents.map(|agent| NewRun { id: domain::RunId::new(), agent, ..run.clone() });
        unless_refused(self.stage.world.store.append_request(&said, &runs).await).map(drop)
    }

    /// A place of one of the agents: seldom one that everybody wants, else one that is shared with one other.
    fn place(&mut self) -> (usize, AgentId, String) {
        let (agent, wanted) = (self.random.random_range(0..2), self.random.random_bool(0.1));
        let name = if wanted { "main".into() } else { format!("{}", self.task / 2) };
        (agent * 2 + usize::from(wanted), self.stage.agents[agent], name)
    }

    async fn identify(&mut self) -> Option<()> {
        let (place, agent, name) = self.place();
        self.take(place, &identify(agent, &name)).await
    }

    async fn come_back(&mut self) -> Option<()> {
        let (place, agent, _) = self.place();
        let slot = *self.slots.get(&place)?;
        if self.random.random_bool(0.3) {
            unless_refused(self.stage.world.store.release_consumer(slot.session, HOUR).await)?;
        }
        self.take(place, &resume(agent, slot.session)).await
    }

    async fn take(&mut self, place: usize, attempt: &store::consumers::TakeConsumer) -> Option<()> {
        let outcome = self.stage.world.store.take_consumer(attempt).await.expect("an answer");
        let ConsumerOutcome::Taken { slot, .. } = outcome else { return None };
        self.slots.insert(place, slot);
        for run in self.stage.world.store.held_runs(slot.session).await.expect("a list") {
            let holder = Holder { run: run.id, session: slot.session, epoch: run.epoch };
            self.held.push((holder, run.version));
        }
        Some(())
    }

    async fn start(&mut self) -> Option<()> {
        let (place, agent, name) = self.place();
        let Some(slot) = self.slots.get(&place).copied() else {
            return self.take(place, &identify(agent, &name)).await;
        };
        let lease = self.pick(&[Duration::ZERO, HOUR, HOUR]);
        let room = self.pick(&self.stage.rooms.clone());
        let runs = self.stage.world.store.runs_of_room(self.stage.owner.into(), room, None, 1000).await;
        let mut runs = runs.expect("an answer").expect("a room of theirs");
        // Now and then one that waits for its place, or is over.
        if self.random.random_bool(0.9) {
            runs.retain(|run| run.status == RunStatus::Queued && run.reason != Some(Reason::AgentBusy));
        }
        let run =
            (!runs.is_empty()).then(|| self.random.random_range(0..runs.len())).map(|at| runs[at].id)?;
        let started = unless_refused(self.stage.world.store.start_run(slot.session, run, lease).await)?.run;
        self.held.push((Holder { run, session: slot.session, epoch: started.epoch }, started.version));
        Some(())
    }

    /// One of the runs that were held once; a late one more often than not.
    fn holding(&mut self) -> Option<usize> {
        let from = self.held.len().saturating_sub(3);
        (!self.held.is_empty()).then(|| self.random.random_range(from..self.held.len()))
    }

    async fn flush(&mut self) -> Option<()> {
        let at = self.holding()?;
        let (holder, base) = self.held[at];
        let snapshot = self.random.random_bool(0.2).then(|| r#"{"items":[]}"#.into());
        let patch = Patch { holder, base, ops: "[]".into(), snapshot };
        let written = self.stage.world.store.write_patches(&[patch]).await.expect("an answer");
        if let PatchOutcome::Written(version) = written[0] {
            self.held[at].1 = version;
            return Some(());
        }
        None
    }

    async fn finish(&mut self) -> Option<()> {
        let at = self.holding()?;
        let (holder, base) = self.held.swap_remove(at);
        let status = self.pick(&[RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled]);
        let doc = r#"{"items":[]}"#.into();
        let finish = FinishRun { holder, status, error: None, base, doc };
        unless_refused(self.stage.world.store.finish_run(&finish).await).map(drop)
    }

    async fn cancel(&mut self) -> Option<()> {
        let open = self.stage.world.store.open_runs(self.stage.owner).await.expect("a list");
        let run =
            (!open.is_empty()).then(|| self.random.random_range(0..open.len())).map(|at| open[at].run)?;
        unless_refused(self.stage.world.store.cancel_run(self.stage.owner.into(), run).await).map(drop)
    }

    async fn call(&mut self) -> Option<()> {
        let at = self.holding()?;
        let (holder, _) = self.held[at];
        let seen =
            self.stage.world.store.run(self.stage.owner.into(), holder.run).await.expect("an answer")?;
        let call = NewToolCall {
            id: ToolCallId::new(),
            run: holder.run,
            agent: seen.agent,
            session: Some(holder.session),
            epoch: Some(holder.epoch),
            user: self.pick(&self.stage.people.clone()),
            tool: "locate".into(),
            args: "{}".into(),
            timeout: self.pick(&[Duration::ZERO, HOUR, HOUR]),
            nonce: self.random.random_bool(0.5).then(|| "step".into()),
        };
        unless_refused(self.stage.world.store.call_tool(&call).await).map(drop)
    }

    async fn answer(&mut self) -> Option<()> {
        let user = self.pick(&self.stage.people.clone());
        let pending = self.stage.world.store.pending_tools(user).await.expect("a list");
        let call = pending.first()?.id;
        let resolution = Resolution { call, user, outcome: Ok("1".into()) };
        unless_refused(self.stage.world.store.resolve_tool(&resolution).await).map(drop)
    }

    /// What workers and owners do.
    async fn tend(&mut self) -> Option<()> {
        let store = self.stage.world.store.shared();
        let (owner, agent) = (self.stage.owner, self.pick(&self.stage.agents.clone()));
        match self.random.random_range(0..6) {
            0 | 1 => {
                let never = HOUR * 24;
                let (queue_limit, cancel_grace) = (
                    self.pick(&[never, never, Duration::from_millis(50)]),
                    self.pick(&[never, Duration::ZERO]),
                );
                let rules = RescueRules { max_attempts: 2, queue_limit, max_runtime: never, cancel_grace };
                store.rescue_runs(&rules, 5).await.map(drop).expect("an answer");
            }
            2 => store.expire_tools(5).await.map(drop).expect("an answer"),
            3 => {
                let sessions: Vec<_> = self.slots.values().map(|slot| slot.session).collect();
                store.keep_consumers(&sessions, HOUR, HOUR).await.map(drop).expect("an answer");
                store.settle_presence(&self.stage.agents).await.map(drop).expect("an answer");
            }
            4 => {
                let room = self.pick(&self.stage.rooms.clone());
                unless_refused(store.remove_member(owner, room, agent.into()).await)?;
                unless_refused(store.add_members(owner, room, &[agent.into()]).await)?;
            }
            _ => {
                // Places become more only: fewer would not be taken from who has them.
                let places = store.agent(agent).await.expect("an answer")?.max_runs;
                let more = AgentSettings { display_name: None, max_runs: Some((places + 1).min(4)) };
                unless_refused(store.set_agent_settings(owner, agent, &more).await)?;
            }
        }
        Some(())
    }
}

async fn stage(world: World) -> Stage {
    let people: [UserId; 3] = world.people().await;
    let owner = people[0];
    let agents = [world.worker(owner, 1).await, world.worker(owner, 2).await];
    let rooms = [world.group(&people).await, world.group(&people).await];
    for room in rooms {
        for agent in agents {
            world.join(owner, room, agent).await;
        }
    }
    Stage { world, owner, people, agents, rooms }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_schedule_breaks_a_rule() {
    let (world, database) = without_deadlocks().await;
    let stage = stage(world).await;
    let seed: u64 = rand::rng().random();
    eprintln!("seed {seed}");
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let random = StdRng::seed_from_u64(seed.wrapping_add(task));
            let mut actor = Actor {
                task,
                stage: stage.clone(),
                random,
                slots: BTreeMap::new(),
                held: Vec::new(),
                done: 0,
            };
            tokio::spawn(async move {
                for _ in 0..STEPS {
                    actor.step().await;
                }
                actor.done
            })
        })
        .collect();
    let over = Arc::new(AtomicBool::new(false));
    let looking = {
        let over = over.clone();
        tokio::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                never(&database, NEVER).await;
            }
            database
        })
    };
    let mut done = 0;
    for task in tasks {
        done += task.await.expect("no panic");
    }
    over.store(true, Ordering::Relaxed);
    let database = looking.await.expect("no panic");
    never(&database, NEVER).await;
    never(&database, NEVER_IN_THE_END).await;
    for room in stage.rooms {
        assert_whole(&stage.world.page(stage.owner, room).await);
    }
    for agent in stage.agents {
        assert_whole(&stage.world.page(agent, agent).await);
    }
    let (steps, kinds) = (TASKS as usize * STEPS, "SELECT DISTINCT status, reason FROM runs");
    let kinds = database.query(kinds).await;
    assert!(done > steps / 3, "only {done} of {steps} did anything");
    assert!(kinds.len() >= 6, "hardly anything happened: {kinds:?}");
}
