//! Every task of a node has an owner, a name and a phase in which it stops.
//!
//! Terms. A *critical* task never may end by itself (a listener, a relay, a scheduler): when one ends, fails
//! or panics, the whole node stops and [`Supervisor::run_until`] gives its name. A *transient* task may end (a
//! connection): a panic of one is logged with its name and counted, and the node goes on. A *phase* is
//! a step of the stop ([`Phase`], in order); each has a cancellation token of its own.
//!
//! The stop: readiness off and the token [`Supervisor::leaving`] cancelled; after [`ShutdownSettings::lead`], phase by phase: cancel
//! the phase's token, wait for its tasks, and say in the log how long that took. All phases share one deadline, of which every later phase keeps a small part for
//! itself, so that connections that do not leave cannot keep the node from handing its presence over.
//! What has not left in time is named in the log and aborted.
//!
//! What can't be ended: a task that blocks its thread. It is named in the log and left behind.

mod task;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::health::Health;
use task::{Failures, Group};
pub use task::{Outcome, Tasks};

/// How a node stops.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShutdownSettings {
    /// How long stopping may take in all. What orders the node to stop must allow a little more.
    #[serde(with = "domain::duration")]
    pub deadline: Duration,
    /// Over how long clients are told to leave, so that they do not all come to the next node at once.
    #[serde(with = "domain::duration")]
    pub spread: Duration,
    /// How long the node goes on as before after it says that it is not ready, so that balancers notice.
    #[serde(with = "domain::duration")]
    pub lead: Duration,
}

impl Default for ShutdownSettings {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(25), spread: Duration::from_secs(5), lead: Duration::ZERO }
    }
}

/// The steps of a stop, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Nothing new: listeners close, pollers stop claiming.
    Intake,
    /// What was begun ends: connections drain, work finishes or is handed back.
    Drain,
    /// What others rely on is handed over: presence, leases.
    Handover,
    /// What everything else leaned on: notifier, listener, relay, pools.
    Bus,
    /// Health and metrics, shown to the end.
    Admin,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 5] = [Self::Intake, Self::Drain, Self::Handover, Self::Bus, Self::Admin];

    /// The name in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Drain => "drain",
            Self::Handover => "handover",
            Self::Bus => "bus",
            Self::Admin => "admin",
        }
    }

    /// What is true once it is over, for whoever reads the log.
    const fn done(self) -> &'static str {
        match self {
            Self::Intake => "nothing new is taken",
            Self::Drain => "connections, requests and work have ended",
            Self::Handover => "what waited is written, presence and leases are handed over",
            Self::Bus => "notifier, listener and relay are closed",
            Self::Admin => "health and metrics are closed",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many phases come after the first.
const LATER_PHASES: u32 = 4;

/// A deadline is no longer than this, whatever the settings say.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Why a critical task left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// It returned.
    #[error("ended")]
    Ended,
    /// It returned an error.
    #[error("failed: {0}")]
    Failed(String),
    /// It panicked.
    #[error("panicked: {0}")]
    Panicked(String),
}

/// A critical task left, so the node stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task {name} {cause}")]
pub struct Failure {
    /// The name of the task.
    pub name: String,
    /// What it did.
    pub cause: Cause,
}

impl Failure {
    /// The kind of failure: a fault of ours.
    #[must_use]
    pub const fn kind(&self) -> domain::ErrorKind {
        domain::ErrorKind::Internal
    }
}

/// Owns every task of a node.
///
/// Dropping it aborts all of them at once; [`Supervisor::run_until`] lets them leave in order.
#[derive(Debug)]
pub struct Supervisor {
    settings: ShutdownSettings,
    groups: [Group; Phase::ALL.len()],
    leaving: CancellationToken,
    failures: Failures,
}

impl Supervisor {
    /// A supervisor without tasks.
    #[must_use]
    pub fn new(settings: ShutdownSettings) -> Self {
        let failures = Failures::default();
        let groups = Phase::ALL.map(|phase| Group::new(phase, failures.clone()));
        Self { settings, groups, leaving: CancellationToken::new(), failures }
    }

    /// The token that is cancelled once the node is to stop: it serves on for the lead, but nobody should settle.
    #[must_use]
    pub fn leaving(&self) -> CancellationToken {
        self.leaving.clone()
    }

    /// Where tasks that stop in `phase` are started.
    #[must_use]
    pub fn at(&self, phase: Phase) -> Tasks {
        self.group(phase).tasks()
    }

    /// The token that is cancelled when `phase` begins.
    #[must_use]
    pub fn token(&self, phase: Phase) -> CancellationToken {
        self.group(phase).token()
    }

    /// Runs until `stop` resolves or a critical task leaves; then stops everything in order.
    ///
    /// # Errors
    ///
    /// A critical task left before it was told to: its name and what it did.
    pub async fn run_until(self, stop: impl Future, health: &Health) -> Result<(), Failure> {
        let failure = tokio::select! {
            biased;
            failure = self.failures.first() => Some(failure),
            _ = stop => None,
        };
        self.leaving.cancel();
        match &failure {
            Some(failure) => {
                tracing::error!(task = failure.name, "{failure}, stopping the node");
                health.drain(failure.to_string());
            }
            None => {
                health.drain("the node was told to stop");
                tracing::info!(lead = ?self.settings.lead, "stopping: not ready from now on, and going on for the lead");
                tokio::select! {
                    _ = self.failures.first() => {}
                    () = tokio::time::sleep(self.settings.lead) => {}
                }
            }
        }
        self.stop().await;
        failure.map_or(Ok(()), Err)
    }

    async fn stop(&self) {
        self.failures.expect_endings();
        let deadline = self.settings.deadline.min(LONGEST);
        let end = Instant::now() + deadline;
        let share = (deadline / 10).min(Duration::from_secs(1));
        let mut kept = share * LATER_PHASES;
        let began = Instant::now();
        for group in &self.groups {
            let (phase, tasks, step) = (group.phase(), group.tasks().running(), Instant::now());
            let left = group.stop(end - kept).await;
            kept = kept.saturating_sub(share);
            if left.is_empty() {
                tracing::info!(%phase, tasks, took = ?step.elapsed(), "stopping: {}", phase.done());
            } else {
                tracing::error!(%phase, tasks = left.join(", "), "tasks did not leave in time, aborted");
            }
        }
        tracing::info!(took = ?began.elapsed(), "stopped");
    }

    fn group(&self, phase: Phase) -> &Group {
        &self.groups[phase as usize]
    }
}

/// Resolves when the operating system asks the process to stop (SIGTERM or SIGINT), with the signal's name.
///
/// # Errors
///
/// The operating system does not let us listen for signals.
pub async fn signal() -> std::io::Result<&'static str> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        })
    }
    #[cfg(not(unix))]
    {
        tokio::signal::ctrl_c().await?;
        Ok("ctrl-c")
    }
}
