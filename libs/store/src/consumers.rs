//! Consumers: the named places from which an agent works, and who holds each.
//!
//! ```text
//!   identify   takes the place from whoever has it: fresh session, epoch + 1; runs of the former holder are handed
//!              back to be started anew
//!   resume     takes it only from the session that is named; its runs go on under the fresh session
//!   ack        moves the cursor, for the holder alone
//! ```
//!
//! Everything that is written in the name of a consumer names its session, and is refused when another holds the place. A takeover
//! changes the runs of the former holder in the same transaction, so that the row of a run alone says who may write it.
//! The idea of a fencing number is from Gray and Cheriton's leases, as retold for distributed locks.

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use domain::{
    Agent, AgentId, ConnectionId, ConsumerId, Event, Invalid, LogEpoch, NodeId, RunId, SlotSessionId, UserId,
};

use crate::error::{Refusal, StoreError};
use crate::log::RoomSummary;

/// Another connection has the place.
pub(crate) const NOT_HELD: Refusal = Refusal::Conflict("another connection holds this consumer");
/// A cursor goes no further than the stream.
pub(crate) const BEYOND_HEAD: Refusal = Refusal::Invalid("seq", "0 to the seq of the newest event");

/// An attempt to take a consumer's place.
#[derive(Debug, Clone)]
pub struct TakeConsumer {
    /// Whose.
    pub agent: AgentId,
    /// How it is taken.
    pub claim: Claim,
    /// The connection that asks. The same connection asking again gets what it has.
    pub connection: ConnectionId,
    /// The session it will hold.
    pub session: SlotSessionId,
    /// Where the connection lives.
    pub node: NodeId,
    /// How long it counts as connected, unless [`Consumers::keep_consumers`] says so again.
    pub live_for: Duration,
}

/// How a place is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// From whoever has it; made when it is new, with the agent's head as its cursor.
    Identify {
        /// The consumer's name.
        name: String,
    },
    /// Only while this session holds it.
    Resume {
        /// The session.
        session: SlotSessionId,
    },
}

/// A place that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerSlot {
    /// Which.
    pub consumer: ConsumerId,
    /// Whose.
    pub agent: AgentId,
    /// The holder's session.
    pub session: SlotSessionId,
    /// Grows by one with each taking.
    pub epoch: u64,
    /// The agent's stream is delivered after this seq.
    pub cursor: u64,
    /// Whether the former holder may still be connected somewhere. To a connection that asks again nobody can say: it is
    /// contested unless it is the first holder.
    pub contested: bool,
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub enum ConsumerOutcome {
    /// Held now.
    Taken {
        /// The place.
        slot: ConsumerSlot,
        /// What was written: `run.requested` for each run that was handed back, and for each that was offered before the cursor and
        /// never started (whoever read of it is gone); `run.finished` for those that were to be stopped; `tool.resolved` for their
        /// calls; `run.requested` for runs that got a place.
        events: Vec<Event>,
        /// Runs that the former holder lost (handed back, or cancelled), or that go on under the fresh session.
        runs: Vec<RunId>,
    },
    /// The session to be resumed holds no place any more: identify again.
    NotResumable,
    /// There is no such agent, or it is revoked or of somebody disabled.
    UnknownAgent,
}

/// What a heartbeat came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Sessions that hold their place no more.
    pub lost: Vec<SlotSessionId>,
    /// Runs of the others whose newest patch is gone (the database crashed): a snapshot is to be written.
    pub emptied: Vec<RunId>,
}

/// How an agent is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStatus {
    /// A consumer is connected, and a place for a run is free.
    Online,
    /// A consumer is connected; all its places are taken.
    Busy,
    /// No consumer is connected.
    Offline,
}

impl FromStr for AgentStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "online" => Ok(Self::Online),
            "busy" => Ok(Self::Busy),
            "offline" => Ok(Self::Offline),
            _ => Err(Invalid::new("status", text, "online, busy or offline")),
        }
    }
}

/// How an agent is seen, with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentPresence {
    /// Who.
    pub agent: AgentId,
    /// How.
    pub status: AgentStatus,
    /// Grows with each change.
    pub version: u64,
}

/// What an agent's connection begins with, of one database snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSnapshot {
    /// The epoch that the positions belong to.
    pub log_epoch: LogEpoch,
    /// Who.
    pub agent: Agent,
    /// Head and floor of its stream.
    pub inbox: (u64, u64),
    /// The rooms it is in, by id. `last_read` and `muted` mean nothing for agents.
    pub rooms: Vec<RoomSummary>,
}

/// Consumers of agents, and how agents are seen.
#[async_trait]
pub trait Consumers {
    /// Takes a consumer's place.
    async fn take_consumer(&self, attempt: &TakeConsumer) -> Result<ConsumerOutcome, StoreError>;

    /// What an agent's connection begins with. None when there is no such agent, or it is revoked or of somebody disabled.
    async fn agent_snapshot(&self, agent: AgentId) -> Result<Option<AgentSnapshot>, StoreError>;

    /// Whether a session holds its place now: the guard of deliveries.
    async fn holds_consumer(&self, session: SlotSessionId) -> Result<bool, StoreError>;

    /// The epochs at which these places stand.
    async fn consumer_epochs(&self, consumers: &[ConsumerId]) -> Result<Vec<(ConsumerId, u64)>, StoreError>;

    /// Moves the cursor forward, never back; answers where it stands.
    ///
    /// # Errors
    ///
    /// `Conflict` when the session holds no place any more; `Invalid` when `seq` is beyond the head.
    async fn ack(&self, session: SlotSessionId, seq: u64) -> Result<u64, StoreError>;

    /// The heartbeat of a node: its sessions stay live for `live_for`, and the runs they hold leased for `lease`.
    async fn keep_consumers(
        &self,
        sessions: &[SlotSessionId],
        live_for: Duration,
        lease: Duration,
    ) -> Result<Kept, StoreError>;

    /// A connection ended on a node that lives: it counts as connected no more, and the runs it holds stay leased for `lease` so that it
    /// can resume. Nothing happens when another session holds the place.
    async fn release_consumer(&self, session: SlotSessionId, lease: Duration) -> Result<(), StoreError>;

    /// Computes how these agents are seen now from live consumers and open runs, and notes what has changed. Answers the changes
    /// alone.
    async fn settle_presence(&self, agents: &[AgentId]) -> Result<Vec<AgentPresence>, StoreError>;

    /// Agents whose noted presence says they are connected while no consumer is, at most `limit`: their node died.
    async fn vanished_agents(&self, limit: u32) -> Result<Vec<AgentId>, StoreError>;

    /// How these agents are noted; who never was seen is left out.
    async fn agent_presence(&self, agents: &[AgentId]) -> Result<Vec<AgentPresence>, StoreError>;

    /// How the agents in a person's rooms are noted.
    async fn presence_around(&self, user: UserId) -> Result<Vec<AgentPresence>, StoreError>;

    /// For each of these agents the rooms it is in.
    async fn rooms_of_agents(&self, agents: &[AgentId])
    -> Result<Vec<(AgentId, domain::RoomId)>, StoreError>;
}
