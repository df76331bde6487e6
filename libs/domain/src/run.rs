//! Runs: one piece of work of an agent in a room, and how it may go.
//!
//! Terms: the *holder* is the consumer session that works on the run; an *epoch* is one execution of it (+1 with
//! each start); *asked to cancel* is a mark on an active run, not a status: only the holder can stop its work, so the
//! run stays active until the holder finishes it or `runs.cancel_grace` is over.
//!
//! ```text
//!        +-- cancel ----------------------> cancelled (cancelled)
//!        +-- agent revoked ---------------> cancelled (agent_revoked)
//!        +-- runs.queue_limit over -------> expired (not_taken)
//!        |
//!     queued ---- run_start (epoch + 1) ----> running ---- tool_call ----> waiting
//!        ^                                     |   ^                      |   |
//!        |                                     |   +-- last result -------+   |
//!        |                                     |                              |
//!        +-- holder lost, attempts left -------+------------------------------+
//!        +-- handed back (attempt refunded) ---+------------------------------+
//!                                              |
//!                      run_finish              +--> succeeded | failed | cancelled
//!                      holder lost, none left  +--> expired (holder_lost)
//!                      runs.max_runtime over   +--> expired (max_runtime)
//!                      agent revoked           +--> cancelled (agent_revoked)
//!                      runs.cancel_grace over  +--> cancelled (cancelled), only if asked to cancel
//! ```
//!
//! A run that was asked to cancel never goes on: whatever the holder finishes it with, and when its holder is lost or
//! hands it back, it is cancelled. It would otherwise be offered again although nobody wants it.
//!
//! The rules here are pure: [`Standing::after`] says where a change leads, or that it may not happen. The writes that
//! make a change are guarded by the same conditions, because two nodes may ask at once.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Invalid;

macro_rules! named {
    ($(#[$doc:meta])* $type:ident, $field:literal, $allowed:literal: $($(#[$each:meta])* $name:ident = $text:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$each])* #[serde(rename = $text)] $name,)*
        }

        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name as it is stored and sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }

        impl FromStr for $type {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                match text {
                    $($text => Ok(Self::$name),)*
                    _ => Err(Invalid::new($field, text, $allowed)),
                }
            }
        }
    };
}
pub(crate) use named;

named! {
    /// How a run stands.
    RunStatus, "status", "queued, running, waiting, succeeded, failed, cancelled or expired":
    /// Nobody works on it yet, or nobody does any more.
    Queued = "queued",
    /// A consumer of the agent works on it.
    Running = "running",
    /// A consumer holds it, and waits for the result of a tool call.
    Waiting = "waiting",
    /// Final: done.
    Succeeded = "succeeded",
    /// Final: the agent gave up, and says why.
    Failed = "failed",
    /// Final: nobody wanted it any more.
    Cancelled = "cancelled",
    /// Final: given up by Switchboard.
    Expired = "expired",
}

impl RunStatus {
    /// Whether nothing can change any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Expired)
    }

    /// Whether a consumer holds the run.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }
}

named! {
    /// How a holder may finish its run. [`RunStatus::Expired`] is Switchboard's own verdict.
    FinishStatus, "status", "succeeded, failed or cancelled":
    /// Done.
    Succeeded = "succeeded",
    /// It could not be done.
    Failed = "failed",
    /// Stopped before it was done.
    Cancelled = "cancelled",
}

impl From<FinishStatus> for RunStatus {
    fn from(status: FinishStatus) -> Self {
        match status {
            FinishStatus::Succeeded => Self::Succeeded,
            FinishStatus::Failed => Self::Failed,
            FinishStatus::Cancelled => Self::Cancelled,
        }
    }
}

named! {
    /// Why a run stands where it does. None is needed while a run is worked on, or when its holder finished it.
    Reason, "reason", "a reason that this release knows":
    /// Queued: the agent was told, and is expected to start it.
    Offered = "offered",
    /// Queued: all places of the agent (`max_runs`) are taken; it is not told yet.
    AgentBusy = "agent_busy",
    /// Queued: the agent was told, but none of its consumers is live. Never stored: see [`Reason::while_offline`].
    AgentOffline = "agent_offline",
    /// Queued: offered again, because its holder was lost. Expired: its holder was lost, and no attempt is left.
    HolderLost = "holder_lost",
    /// Queued: offered again, because a new consumer took the place of its holder.
    HandedBack = "handed_back",
    /// Waiting: for the result of a tool call.
    ToolCall = "tool_call",
    /// Expired: worked on for longer than `runs.max_runtime`.
    MaxRuntime = "max_runtime",
    /// Expired: queued for longer than `runs.queue_limit`.
    NotTaken = "not_taken",
    /// Cancelled: somebody asked for it.
    Cancelled = "cancelled",
    /// Cancelled: the agent may not work any more.
    AgentRevoked = "agent_revoked",
}

impl Reason {
    /// The reason to show while no consumer of the agent is live. It is worked out by whoever reads, because consumers
    /// come and go without a write to their runs.
    #[must_use]
    pub const fn while_offline(self) -> Self {
        match self {
            Self::Offered => Self::AgentOffline,
            other => other,
        }
    }
}

/// What happens to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A place of the agent is free for it: the agent is told.
    Offer,
    /// A consumer takes it.
    Start,
    /// The holder asks for a tool call.
    ToolCall,
    /// The last pending tool call was answered, expired or cancelled.
    ToolsDone,
    /// The holder finishes it.
    Finish(FinishStatus),
    /// The holder's lease is over, and the run may be tried again.
    HolderLost,
    /// The holder's lease is over, and no attempt is left.
    HolderLostForGood,
    /// A new consumer of the same name took over from the holder.
    HandBack,
    /// `runs.max_runtime` is over.
    MaxRuntime,
    /// `runs.queue_limit` is over.
    QueueLimit,
    /// Somebody asks to cancel it.
    Cancel,
    /// `runs.cancel_grace` is over.
    CancelGrace,
    /// The agent was disabled.
    AgentRevoked,
}

/// What the rules look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Standing {
    /// How the run stands.
    pub status: RunStatus,
    /// Why, where that needs saying.
    pub reason: Option<Reason>,
    /// Whether its holder was asked to cancel it.
    pub cancel_requested: bool,
}

impl Standing {
    /// A run that was just made and offered.
    pub const OFFERED: Self =
        Self { status: RunStatus::Queued, reason: Some(Reason::Offered), cancel_requested: false };

    /// Whether it came to the end that this finish leads to: what a holder is answered that asks again. One that was
    /// to stop is cancelled, whatever its holder says.
    #[must_use]
    pub fn is_ended_by(self, status: FinishStatus) -> bool {
        self.status == status.into() || (self.cancel_requested && self.status == RunStatus::Cancelled)
    }

    /// Where a change leads; none if it may not happen to a run that stands like this.
    #[must_use]
    pub fn after(self, change: Change) -> Option<Self> {
        match self.status {
            RunStatus::Queued => self.queued_after(change),
            RunStatus::Running | RunStatus::Waiting => self.held_after(change),
            _ => None,
        }
    }

    fn queued_after(self, change: Change) -> Option<Self> {
        let busy = self.reason == Some(Reason::AgentBusy);
        match change {
            Change::Offer if busy => self.becomes(RunStatus::Queued, Reason::Offered),
            Change::Start if !busy => self.becomes(RunStatus::Running, None),
            Change::Cancel => self.becomes(RunStatus::Cancelled, Reason::Cancelled),
            Change::QueueLimit => self.becomes(RunStatus::Expired, Reason::NotTaken),
            Change::AgentRevoked => self.becomes(RunStatus::Cancelled, Reason::AgentRevoked),
            _ => None,
        }
    }

    fn held_after(self, change: Change) -> Option<Self> {
        match change {
            Change::ToolCall => self.becomes(RunStatus::Waiting, Reason::ToolCall),
            Change::ToolsDone if self.status == RunStatus::Waiting => self.becomes(RunStatus::Running, None),
            Change::Cancel => Some(Self { cancel_requested: true, ..self }),
            Change::MaxRuntime => self.becomes(RunStatus::Expired, Reason::MaxRuntime),
            Change::AgentRevoked => self.becomes(RunStatus::Cancelled, Reason::AgentRevoked),
            Change::CancelGrace
            | Change::Finish(_)
            | Change::HolderLost
            | Change::HolderLostForGood
            | Change::HandBack
                if self.cancel_requested =>
            {
                self.becomes(RunStatus::Cancelled, Reason::Cancelled)
            }
            Change::Finish(status) => self.becomes(status.into(), None),
            Change::HolderLost => self.becomes(RunStatus::Queued, Reason::HolderLost),
            Change::HolderLostForGood => self.becomes(RunStatus::Expired, Reason::HolderLost),
            Change::HandBack => self.becomes(RunStatus::Queued, Reason::HandedBack),
            _ => None,
        }
    }

    fn becomes(self, status: RunStatus, reason: impl Into<Option<Reason>>) -> Option<Self> {
        Some(Self { status, reason: reason.into(), ..self })
    }
}

#[cfg(test)]
mod tests;
