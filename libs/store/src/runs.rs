//! Runs: pieces of work of agents, each with a live document.
//!
//! The state machine is drawn in [`domain::run`]. Terms: `epoch`, the number of the execution, grows with each start; `version`, of the document,
//! grows by one with each flush and never goes back. A patch leads from `version - 1` to `version`. `doc` is the document as of
//! `doc_version`; what came since lies in patches, which a crash of the database may empty.
//!
//! An agent is *offered* as many runs as it has places; the others wait their turn (`agent_busy`). Whatever frees a place offers the next in
//! the same transaction, under the lock of the agent's stream.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::run::{Reason, RunStatus};
use domain::{AgentId, Event, Principal, RoomId, RunId, SlotSessionId, UserId};
use jiff::Timestamp;

use crate::error::{Refusal, StoreError};
use crate::messages::{Appended, NewMessage};

pub(crate) mod events;
pub(crate) mod locked;
pub(crate) mod rules;

/// A run to be made.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The id chosen by the caller.
    pub id: RunId,
    /// Where.
    pub room: RoomId,
    /// Who is to work; must be in the room and not revoked.
    pub agent: AgentId,
    /// Who asks; must be in the room.
    pub requester: Principal,
    /// Makes asking twice the same run: unique for agent and requester. Without one the id does.
    pub cause: Option<String>,
    /// What is asked, as JSON text.
    pub input: Arc<str>,
    /// Longest chain of agents that answer agents. A run asked for by a person has 0 hops, one asked for by an agent one more than
    /// the highest of that agent's runs in this room that are open, or ended within the last minute (1 when it has none).
    pub max_hops: u32,
}

/// A run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Which.
    pub id: RunId,
    /// Where.
    pub room: RoomId,
    /// Who works.
    pub agent: AgentId,
    /// Who asked.
    pub requester: Principal,
    /// What was asked, as JSON text.
    pub input: Arc<str>,
    /// How it stands.
    pub status: RunStatus,
    /// Why it stands so.
    pub reason: Option<Reason>,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// Number of the execution; 0 before the first.
    pub epoch: u64,
    /// Version of the document.
    pub version: u64,
    /// Runs before it in the chain.
    pub hops: u32,
    /// Executions that were begun and count.
    pub attempts: u32,
    /// Whether it is to stop.
    pub cancel_requested: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was first started.
    pub started_at: Option<Timestamp>,
    /// When it came to its end.
    pub finished_at: Option<Timestamp>,
    /// The document.
    pub doc: StoredDoc,
}

/// A document as it is kept. Apply the patches in order to have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDoc {
    /// The newest snapshot, as JSON text.
    pub doc: Arc<str>,
    /// Its version.
    pub version: u64,
    /// What follows on without a hole.
    pub patches: Vec<StoredPatch>,
}

/// One patch: leads from `version - 1` to `version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPatch {
    /// Version after it.
    pub version: u64,
    /// JSON text of an array of operations.
    pub ops: Arc<str>,
}

/// What came of asking for a run.
#[derive(Debug, Clone)]
pub struct RunCreated {
    /// The run: the new one, or that of the repeated call.
    pub run: Run,
    /// False when it was there before.
    pub created: bool,
    /// `run.created` in the room, `run.requested` in the agent's stream when it has a place.
    pub events: Vec<Event>,
}

/// What came of a message that asks agents.
#[derive(Debug, Clone)]
pub struct Requested {
    /// The message.
    pub appended: Appended,
    /// Everything that was written, in the order of writing, the message first.
    pub events: Vec<Event>,
    /// The runs that were made.
    pub runs: Vec<RunId>,
    /// The agents that were not asked, and why (`Conflict` for too long a chain).
    pub refused: Vec<(AgentId, Refusal)>,
}

/// Who works on a run, as every write must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The run.
    pub run: RunId,
    /// The consumer's session.
    pub session: SlotSessionId,
    /// The execution.
    pub epoch: u64,
}

/// A run that was started.
#[derive(Debug, Clone)]
pub struct Started {
    /// The run, with an empty document.
    pub run: Run,
    /// False when this session had started it already, and asks again.
    pub fresh: bool,
}

/// A flush of one run.
#[derive(Debug, Clone)]
pub struct Patch {
    /// Who writes.
    pub holder: Holder,
    /// Version that the operations were applied to, as the holder's node knows it.
    pub base: u64,
    /// JSON text of the operations.
    pub ops: Arc<str>,
    /// The document after them, to be kept as snapshot: every so many patches, and when patches were lost.
    pub snapshot: Option<Arc<str>>,
}

/// What came of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchOutcome {
    /// Written as this version: the one after the base. A repeated flush gives what it gave before. A snapshot is always written, with a
    /// higher version when it does not follow on its base: the next flush begins from the version given here.
    Written(u64),
    /// The holder is no longer that, or the run is over: nothing was written, and never will be.
    Lost,
    /// What is stored does not end at the base (its patch is gone, or a flush went before whose answer was lost and to which other
    /// operations were added since): nothing was written, send it again with a snapshot.
    Emptied,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct FinishRun {
    /// Who writes.
    pub holder: Holder,
    /// `Succeeded`, `Failed` or `Cancelled`.
    pub status: RunStatus,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// Version that the document was before the last operations, as the holder's node knows it.
    pub base: u64,
    /// The document as it stays.
    pub doc: Arc<str>,
}

/// What a node knows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The run.
    pub run: RunId,
    /// Its execution, as known.
    pub epoch: u64,
    /// Its version, as known; 0 for nothing, also before its first start.
    pub version: u64,
}

/// How a run stands for those who follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunUpdate {
    /// Which.
    pub run: RunId,
    /// Where.
    pub room: RoomId,
    /// Who works.
    pub agent: AgentId,
    /// Its execution.
    pub epoch: u64,
    /// Its version as the row says; what follows may end below, when patches were lost.
    pub version: u64,
    /// How it stands.
    pub status: RunStatus,
    /// Why it stands so.
    pub reason: Option<Reason>,
    /// Whether it is to stop.
    pub cancel_requested: bool,
    /// What the node lacks of the document.
    pub change: DocChange,
}

/// What a node lacks of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocChange {
    /// These follow on what it knows; none when nothing is new.
    Patches(Vec<StoredPatch>),
    /// It begins anew.
    Whole(StoredDoc),
}

/// A run that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRun {
    /// Which.
    pub run: RunId,
    /// Where.
    pub room: RoomId,
}

/// How runs that stand still are judged.
#[derive(Debug, Clone, Copy)]
pub struct RescueRules {
    /// Executions that may be lost before a run expires.
    pub max_attempts: u32,
    /// How long an offered run may stay untaken, or a queued one wait for a place.
    pub queue_limit: Duration,
    /// Longest time from the first start to the end.
    pub max_runtime: Duration,
    /// How long a holder may take to stop a run that is to be cancelled.
    pub cancel_grace: Duration,
}

/// Runs that a rescue has moved.
#[derive(Debug, Clone, Default)]
pub struct Rescued {
    /// What was written.
    pub events: Vec<Event>,
    /// The runs, with the versions they stand at.
    pub runs: Vec<(RunId, u64)>,
    /// The agents whose places changed.
    pub agents: Vec<AgentId>,
}

/// Runs.
#[async_trait]
pub trait Runs {
    /// Makes a run.
    ///
    /// # Errors
    ///
    /// `NotFound` for a room the requester is not in, or an agent that is not in it, is revoked or is of somebody disabled; `Conflict`
    /// when the chain of agents is too long; `NonceReused` when the cause or the id was used for a run elsewhere or of somebody else.
    async fn create_run(&self, run: &NewRun) -> Result<RunCreated, StoreError>;

    /// Appends a message that mentions agents, and makes their runs in the same commit: `message.created` (the same data) in the stream
    /// of each agent, then what [`Self::create_run`] writes. A repeated nonce writes nothing. An agent that can't be asked
    /// does not keep the message from being sent, and is not told of it.
    ///
    /// # Errors
    ///
    /// As [`crate::Messages::append_messages`] for the message.
    async fn append_request(&self, message: &NewMessage, runs: &[NewRun]) -> Result<Requested, StoreError>;

    /// One run; none when the reader is not in its room.
    async fn run(&self, reader: Principal, run: RunId) -> Result<Option<Run>, StoreError>;

    /// The runs of a room by id before `before`, newest first, at most `limit`. None when the reader is not in it.
    async fn runs_of_room(
        &self,
        reader: Principal,
        room: RoomId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Option<Vec<Run>>, StoreError>;

    /// Starts a run for a consumer by compare-and-swap from queued and offered: epoch + 1, an empty document as
    /// a snapshot of version + 1. The same session asking again for the run it runs gets it as it stands.
    ///
    /// # Errors
    ///
    /// `NotFound` when the run is not the agent's; `Conflict` when the session holds its place no more, the run is not queued, or not offered yet.
    async fn start_run(
        &self,
        session: SlotSessionId,
        run: RunId,
        lease: Duration,
    ) -> Result<Started, StoreError>;

    /// Flushes several runs in one commit and one round trip; the outcomes in their order.
    async fn write_patches(&self, patches: &[Patch]) -> Result<Vec<PatchOutcome>, StoreError>;

    /// Ends a run: keeps the document alone, cancels its pending tool calls, offers the next runs of the agent. One that was to be stopped is
    /// cancelled, whatever the status. Repeated for the same execution with the same status, by its holder or whoever resumed, it
    /// changes nothing. Answers the run and what was written.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Conflict` when the holder is no longer that, or the run is over otherwise; `Invalid` for another status.
    async fn finish_run(&self, finish: &FinishRun) -> Result<(Run, Vec<Event>), StoreError>;

    /// Asks for a run to be stopped: one that is queued is over at once, one that is worked on is marked, and the agent is told. Asking again
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`, also for anybody but the agent and its owner who is not in the room; `Forbidden` unless by who asked for it, the
    /// agent itself, its owner, or an owner of the room; `Conflict` when it is over already and not cancelled.
    async fn cancel_run(&self, actor: Principal, run: RunId) -> Result<(Run, Vec<Event>), StoreError>;

    /// The runs that are not over in the rooms of a person.
    async fn open_runs(&self, user: UserId) -> Result<Vec<OpenRun>, StoreError>;

    /// The runs that a consumer's session works on.
    async fn held_runs(&self, session: SlotSessionId) -> Result<Vec<Run>, StoreError>;

    /// What a node lacks of these runs. Those that are gone are left out. For relays, which look to membership themselves.
    async fn run_updates(&self, known: &[Known]) -> Result<Vec<RunUpdate>, StoreError>;

    /// Moves on runs that stand still, at most `limit`: leases that ran out, cancels that were not obeyed, work that takes too long, offers
    /// that nobody took. Each guard stands in the write: several workers may do this at once.
    async fn rescue_runs(&self, rules: &RescueRules, limit: u32) -> Result<Rescued, StoreError>;
}
