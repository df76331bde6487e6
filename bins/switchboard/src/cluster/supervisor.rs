//! Owns the processes of a local cluster, from their start to the end of the last one.
//!
//! One loop has everything: what it is asked for, the end of each process, and signals. Nothing in it waits, so a
//! node that hangs at its start holds nobody up; what takes time (becoming ready, draining) comes back as an event.
//!
//! ```text
//!           start               ready
//!   down ----------> starting --------> up
//!    ^ ^                |               |
//!    | '----------------+---------------+   ended by itself: told, with the end of its log
//!    |                  |               |
//!    |                  v kill, restart v
//!    '--- ended ------- ending ---------'   then, after a restart, start again
//! ```

use std::path::Path;
use std::time::Duration;

use domain::AgentId;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::control::{Answer, Asked, Request};
use super::database::Database;
use super::error::ClusterError;
use super::home::Home;
use super::member::{Ended, Launcher, Order, Running};
use super::plan::{Plan, Role, Spec};
use super::readiness::until_ready;
use super::report;
use crate::signals::Signals;

/// How long a node may take to be ready.
const READY: Duration = Duration::from_secs(60);

/// How long a node may take beyond its own `shutdown.deadline` before it is killed.
pub(super) const GRACE: Duration = Duration::from_secs(5);

type Reply = oneshot::Sender<Answer>;

/// A node, and the process it is at the moment.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) spec: Spec,
    life: Life,
}

#[derive(Debug)]
enum Life {
    Down,
    /// Whoever asked for the start waits.
    Starting(Running, Option<Reply>),
    Up(Running),
    Ending(Running, Then),
}

/// What follows the end of a process that was ordered.
#[derive(Debug)]
enum Then {
    Rest(Reply),
    Start(Reply),
}

impl Member {
    /// Its process, while there is one.
    pub(super) fn pid(&self) -> Option<u32> {
        self.running().map(|running| running.pid)
    }

    const fn running(&self) -> Option<&Running> {
        match &self.life {
            Life::Down => None,
            Life::Starting(running, _) | Life::Up(running) | Life::Ending(running, _) => Some(running),
        }
    }

    /// Gives the order to end, or says why not.
    fn end(&mut self, order: Order, then: Then) {
        match std::mem::replace(&mut self.life, Life::Down) {
            Life::Starting(running, waits) => {
                answer(waits, Err(format!("{} was told to end before it was ready", self.spec.name)));
                running.order(order);
                self.life = Life::Ending(running, then);
            }
            Life::Up(running) => {
                running.order(order);
                self.life = Life::Ending(running, then);
            }
            life @ (Life::Down | Life::Ending(..)) => self.life = life,
        }
    }
}

/// That a node became ready, or did not in time.
struct Readiness {
    name: String,
    start: u64,
    outcome: Result<(), String>,
}

/// The nodes of a cluster, and the loop that looks after them.
pub(super) struct Supervisor {
    home: Home,
    database: Database,
    members: Vec<Member>,
    /// The demo agent.
    agent: Option<AgentId>,
    plan: Plan,
    launcher: Launcher,
    patience: Duration,
    attendants: JoinSet<Ended>,
    readiness: FuturesUnordered<BoxFuture<'static, Readiness>>,
}

impl Supervisor {
    /// Of nodes that `plan` names and `launcher` starts. `deadline` is their `shutdown.deadline`.
    pub(super) fn new(
        home: Home,
        database: Database,
        plan: Plan,
        launcher: Launcher,
        deadline: Duration,
    ) -> Self {
        Self {
            home,
            database,
            members: Vec::new(),
            agent: None,
            plan,
            launcher,
            patience: deadline + GRACE,
            attendants: JoinSet::new(),
            readiness: FuturesUnordered::new(),
        }
    }

    /// The data directory.
    pub(super) const fn home(&self) -> &Home {
        &self.home
    }

    /// The path of the data directory.
    pub(super) fn dir(&self) -> &Path {
        self.home.dir()
    }

    /// The URLs of the gateways.
    pub(super) fn gateways(&self) -> Vec<String> {
        let gateways = self.members.iter().filter(|member| member.spec.role == Role::Gateway);
        gateways.filter_map(|member| member.spec.url()).collect()
    }

    /// Tells of the demo agent, too, from now on.
    pub(super) fn has_agent(&mut self, agent: AgentId) {
        self.agent = Some(agent);
        self.write_state();
    }

    /// What runs where, for people.
    pub(super) fn text(&self) -> String {
        report::text(&self.home, &self.database, &self.members, self.agent)
    }

    /// What runs where, for programs.
    pub(super) fn json(&self) -> String {
        report::json(&self.database, &self.members, self.agent).to_string()
    }

    /// Starts the first nodes; returns when all are ready.
    pub(super) async fn start(
        &mut self,
        nodes: Vec<Spec>,
        signals: &mut Signals,
    ) -> Result<(), ClusterError> {
        for spec in nodes {
            self.enter(spec, None)?;
        }
        while self.members.iter().any(|member| !matches!(member.life, Life::Up(_))) {
            tokio::select! {
                _ = signals.next() => return Err(ClusterError::Interrupted),
                Some(Ok(ended)) = self.attendants.join_next() => return Err(self.ended_at_start(&ended)),
                Some(readiness) = self.readiness.next() => {
                    if let Some(error) = self.readied(readiness) {
                        return Err(error);
                    }
                }
            }
        }
        self.write_state();
        Ok(())
    }

    /// Looks after them until a signal comes.
    pub(super) async fn serve(&mut self, requests: &mut mpsc::Receiver<Asked>, signals: &mut Signals) {
        loop {
            tokio::select! {
                name = signals.next() => {
                    report::say(&format!("{name}: draining and stopping"));
                    return;
                }
                Some(asked) = requests.recv() => self.asked(asked),
                Some(Ok(ended)) = self.attendants.join_next() => self.ended(&ended),
                Some(readiness) = self.readiness.next() => {
                    if let Some(error) = self.readied(readiness) {
                        report::say(&error.to_string());
                    }
                }
                how = self.database.ended() => report::say(&report::database_ended(self.home.dir(), &how)),
            }
            self.write_state();
        }
    }

    /// Stops every node in order and the database last. A second signal kills what is left.
    pub(super) async fn stop(mut self, signals: &mut Signals) -> Result<(), ClusterError> {
        // Those who face clients drain first; what they leave to do is for the workers.
        for roles in [&[Role::Api, Role::Gateway][..], &[Role::Worker]] {
            let order = Order::Stop(self.patience);
            self.running(roles).for_each(|running| running.order(order));
            while self.running(roles).next().is_some() && !self.attendants.is_empty() {
                tokio::select! {
                    _ = signals.next() => {
                        report::say("killing what is left");
                        self.running(&Role::ALL).for_each(|running| running.order(Order::Kill));
                    }
                    Some(Ok(ended)) = self.attendants.join_next() => self.stopped(&ended),
                }
            }
        }
        let stopped = self.database.stop().await;
        self.home.clear();
        report::say("stopped");
        stopped
    }

    fn running(&self, roles: &[Role]) -> impl Iterator<Item = &Running> {
        self.members.iter().filter(|member| roles.contains(&member.spec.role)).filter_map(Member::running)
    }

    /// Writes down what runs where.
    fn write_state(&self) {
        if let Err(error) = self.home.write_state(&self.json()) {
            report::say(&error.to_string());
        }
    }

    fn asked(&mut self, Asked { request, reply }: Asked) {
        report::say(&format!("asked to {request}"));
        match request {
            Request::Kill(name) if self.is_database(&name) => self.database.kill(reply),
            Request::Restart(name) if self.is_database(&name) => self.database.restart(reply),
            Request::Kill(name) => match self.index_of(&name) {
                Ok(index) => self.kill(index, reply),
                Err(error) => answer(Some(reply), Err(error.to_string())),
            },
            Request::Restart(name) => match self.index_of(&name) {
                Ok(index) => self.restart(index, reply),
                Err(error) => answer(Some(reply), Err(error.to_string())),
            },
            Request::Add(role) => {
                match self.plan.node(role) {
                    // What went wrong was told to whoever waits.
                    Ok(spec) => drop(self.enter(spec, Some(reply))),
                    Err(error) => answer(Some(reply), Err(error.to_string())),
                }
            }
        }
    }

    fn is_database(&self, name: &str) -> bool {
        self.database.is_private() && name == Database::NAME
    }

    fn index_of(&self, name: &str) -> Result<usize, ClusterError> {
        self.members.iter().position(|member| member.spec.name == name).ok_or_else(|| {
            let mut known: Vec<&str> = self.members.iter().map(|member| member.spec.name.as_str()).collect();
            if self.database.is_private() {
                known.push(Database::NAME);
            }
            ClusterError::NoNode { name: name.to_owned(), known: known.join(", ") }
        })
    }

    fn kill(&mut self, index: usize, reply: Reply) {
        let member = &mut self.members[index];
        let name = &member.spec.name;
        match member.life {
            Life::Down => answer(Some(reply), Ok(format!("{name} is down already"))),
            Life::Ending(..) => answer(Some(reply), Err(format!("{name} is ending already"))),
            Life::Starting(..) | Life::Up(_) => member.end(Order::Kill, Then::Rest(reply)),
        }
    }

    fn restart(&mut self, index: usize, reply: Reply) {
        let patience = self.patience;
        let member = &mut self.members[index];
        match member.life {
            Life::Down => drop(self.launch(index, Some(reply))),
            Life::Ending(..) => answer(Some(reply), Err(format!("{} is ending", member.spec.name))),
            Life::Starting(..) | Life::Up(_) => member.end(Order::Stop(patience), Then::Start(reply)),
        }
    }

    /// One more node.
    fn enter(&mut self, spec: Spec, reply: Option<Reply>) -> Result<(), ClusterError> {
        self.members.push(Member { spec, life: Life::Down });
        self.launch(self.members.len() - 1, reply)
    }

    /// Starts the process of a node that is down.
    fn launch(&mut self, index: usize, reply: Option<Reply>) -> Result<(), ClusterError> {
        self.plan.let_go();
        let member = &mut self.members[index];
        match self.launcher.start(&member.spec, &self.home, &mut self.attendants) {
            Ok(running) => {
                let (name, admin, start) = (member.spec.name.clone(), member.spec.admin, running.start);
                self.readiness.push(Box::pin(async move {
                    Readiness { name, start, outcome: until_ready(admin, READY).await }
                }));
                member.life = Life::Starting(running, reply);
                Ok(())
            }
            Err(error) => {
                answer(reply, Err(error.to_string()));
                Err(error)
            }
        }
    }

    /// A process ended while the cluster serves.
    fn ended(&mut self, ended: &Ended) {
        let Ok(index) = self.index_of(&ended.name) else { return };
        let member = &mut self.members[index];
        let name = &ended.name;
        match std::mem::replace(&mut member.life, Life::Down) {
            Life::Down => {}
            Life::Ending(_, Then::Rest(reply)) => answer(Some(reply), Ok(format!("{name} is down"))),
            Life::Ending(_, Then::Start(reply)) => drop(self.launch(index, Some(reply))),
            Life::Starting(running, waits) => {
                let error = self.early(ended, running.log_from).to_string();
                report::say(&error);
                answer(waits, Err(error));
            }
            Life::Up(running) => {
                let tail = self.home.log_tail(name, running.log_from);
                report::say(&report::node_ended(self.home.dir(), ended, &self.home.log(name), &tail));
            }
        }
    }

    fn ended_at_start(&mut self, ended: &Ended) -> ClusterError {
        let log_from = match self.index_of(&ended.name) {
            Ok(index) => {
                let life = std::mem::replace(&mut self.members[index].life, Life::Down);
                match life {
                    Life::Starting(running, _) | Life::Up(running) | Life::Ending(running, _) => {
                        running.log_from
                    }
                    Life::Down => 0,
                }
            }
            Err(error) => return error,
        };
        self.early(ended, log_from)
    }

    fn early(&self, ended: &Ended, log_from: u64) -> ClusterError {
        ClusterError::Ended {
            name: ended.name.clone(),
            how: ended.how.clone(),
            log: self.home.log(&ended.name),
            tail: self.home.log_tail(&ended.name, log_from),
        }
    }

    /// A process ended because the cluster stops.
    fn stopped(&mut self, ended: &Ended) {
        report::say(&format!("{} ended ({})", ended.name, ended.how));
        if let Ok(index) = self.index_of(&ended.name) {
            // Whoever waits for it sees the connection close.
            self.members[index].life = Life::Down;
        }
    }

    /// A node became ready, or did not in time, which is given back. It may have ended by now.
    fn readied(&mut self, Readiness { name, start, outcome }: Readiness) -> Option<ClusterError> {
        let index = self.index_of(&name).ok()?;
        let member = &mut self.members[index];
        if !matches!(&member.life, Life::Starting(running, _) if running.start == start) {
            return None;
        }
        if let Life::Starting(running, waits) = std::mem::replace(&mut member.life, Life::Down) {
            member.life = Life::Up(running);
            let error = outcome.err().map(|last| ClusterError::NotReady {
                name: name.clone(),
                seconds: READY.as_secs(),
                last,
                log: self.home.log(&name),
            });
            let text = format!("{name} is ready at {}", member.spec.url().unwrap_or(member.spec.admin_url()));
            if error.is_none() {
                report::say(&text);
            }
            answer(waits, error.as_ref().map_or(Ok(text), |error| Err(error.to_string())));
            return error;
        }
        None
    }
}

/// Answers whoever waits, if somebody still does.
fn answer(waits: Option<Reply>, answer: Answer) {
    if let Some(reply) = waits {
        drop(reply.send(answer));
    }
}
