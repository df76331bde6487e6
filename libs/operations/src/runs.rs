//! Runs: asking for them, working on them, stopping them.

pub(crate) mod live;
mod writer;

use std::sync::Arc;

use domain::document::parse_ops;
use domain::run::{FinishStatus, Standing};
use domain::{AgentId, Invalid, Principal, RoomId, RunId, SlotSessionId, text};
use protocol::frame::RawJson;
use realtime::livebox;
use store::StoreError;
use store::runs::{FinishRun, Holder, NewRun, Rescued, Run, RunCreated};

pub use writer::FlushTask;

use crate::Operations;
use crate::error::Error;

/// A run as it is asked for.
#[derive(Debug, Clone)]
pub struct RequestRun {
    /// Where.
    pub room: RoomId,
    /// Who is to work.
    pub agent: AgentId,
    /// Who asks.
    pub requester: Principal,
    /// What is asked: any JSON.
    pub input: RawJson,
    /// Makes the call safe to repeat.
    pub nonce: Option<String>,
}

/// How a consumer ends its run.
#[derive(Debug, Clone)]
pub struct EndRun {
    /// Which run.
    pub run: RunId,
    /// Under which execution.
    pub epoch: u64,
    /// How it ended.
    pub status: FinishStatus,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// Last operations on the document.
    pub ops: Option<RawJson>,
}

/// A run with its document built.
#[derive(Debug, Clone)]
pub struct BuiltRun {
    /// The run; `doc` in it is as it is stored.
    pub run: Run,
    /// The document as JSON text.
    pub doc: Arc<str>,
    /// The version of that document: that of the run, unless patches were lost and are not yet written again.
    pub version: u64,
}

impl TryFrom<Run> for BuiltRun {
    type Error = Error;

    /// Builds the document. One that no patches follow on stands as it was written.
    fn try_from(run: Run) -> Result<Self, Error> {
        if run.doc.patches.is_empty() {
            return Ok(Self { doc: Arc::clone(&run.doc.doc), version: run.doc.version, run });
        }
        let (doc, version) = livebox::build(run.id, &run.doc)
            .ok_or_else(|| StoreError::Internal("a stored document is none".into()))?;
        Ok(Self { doc: doc.to_json().into(), version, run })
    }
}

/// Longest text of what went wrong, in bytes.
const MAX_ERROR: usize = 4096;

impl Operations {
    /// Asks an agent for a run.
    ///
    /// # Errors
    ///
    /// `Invalid` for the input; `NotFound` for a room or an agent that is not in it; `Conflict` for too long a chain of agents.
    pub async fn request_run(&self, request: RequestRun) -> Result<RunCreated, Error> {
        check_json("input", &request.input, self.runs.max_input_bytes)?;
        if let Some(nonce) = &request.nonce {
            text::nonce("nonce", nonce)?;
        }
        let run = NewRun {
            id: RunId::new(),
            room: request.room,
            agent: request.agent,
            requester: request.requester,
            cause: request.nonce.map(|nonce| format!("call:{nonce}")),
            input: request.input.get().into(),
            max_hops: self.runs.max_hops,
        };
        let mut created = self.store.create_run(&run).await?;
        self.announcer.events(std::mem::take(&mut created.events));
        Ok(created)
    }

    /// One run.
    ///
    /// # Errors
    ///
    /// `NotFound` for those who are not in its room.
    pub async fn run(&self, reader: Principal, run: RunId) -> Result<BuiltRun, Error> {
        let run = self.store.run(reader, run).await?.ok_or(store::Refusal::NotFound("run"))?;
        run.try_into()
    }

    /// The runs of a room by id before `before`, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// `NotFound` for those who are not in the room.
    pub async fn runs_of_room(
        &self,
        reader: Principal,
        room: RoomId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<BuiltRun>, Error> {
        let runs = self.store.runs_of_room(reader, room, before, limit).await?;
        runs.ok_or(store::Refusal::NotFound("room"))?.into_iter().map(BuiltRun::try_from).collect()
    }

    /// Asks for a run to be stopped.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Forbidden`, `Conflict`.
    pub async fn cancel_run(&self, actor: Principal, run: RunId) -> Result<BuiltRun, Error> {
        let (run, events) = self.store.cancel_run(actor, run).await?;
        self.announce(events);
        self.run_stands(run.id, run.version);
        if run.status.is_final() {
            self.settle_presence(&[run.agent]).await;
        }
        run.try_into()
    }

    /// A consumer starts a run.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Conflict`.
    pub async fn start_run(&self, session: SlotSessionId, run: RunId) -> Result<BuiltRun, Error> {
        let started = self.store.start_run(session, run, self.runs.lease).await?;
        // Asked again by the session that runs it: what it wrote meanwhile stands.
        if started.fresh || self.live.held(session, run, started.run.epoch).is_err() {
            self.live.adopt(session, &started.run)?;
        }
        self.announcer.run_updated(run, started.run.version);
        self.settle_presence(&[started.run.agent]).await;
        started.run.try_into()
    }

    /// A consumer changes the document of its run. Those who watch see it within `runs.flush_interval`.
    ///
    /// # Errors
    ///
    /// `Invalid` for the operations: none is applied then; `Conflict` when the run is not the session's.
    pub async fn patch_run(
        &self,
        session: SlotSessionId,
        run: RunId,
        epoch: u64,
        ops: &RawJson,
    ) -> Result<(), Error> {
        let live = self.live.held(session, run, epoch)?;
        let ops = parse_ops(ops.get())?;
        live.apply(ops, self.runs.max_doc_bytes, self.runs.max_pending_bytes).await?;
        self.live.mark(run);
        Ok(())
    }

    /// A consumer ends its run. One that was not answered asks again and is answered, whatever became of the first try.
    ///
    /// # Errors
    ///
    /// `Invalid` for the last operations; `Conflict` when the run is not the session's, or over otherwise.
    pub async fn finish_run(
        &self,
        agent: AgentId,
        session: SlotSessionId,
        end: EndRun,
    ) -> Result<BuiltRun, Error> {
        if let Some(error) = &end.error {
            check_text("error", error, MAX_ERROR)?;
        }
        let ops = end.ops.as_ref().map(|ops| parse_ops(ops.get())).transpose()?.unwrap_or_default();
        let live = match self.live.held(session, end.run, end.epoch) {
            Ok(live) => live,
            Err(refused) => return self.ended_so(agent, &end).await?.ok_or(refused),
        };
        // A flush that is under way ends first: the document has what it writes.
        let writing = live.writing.lock().await;
        let (doc, base) = live.finally(&ops, self.runs.max_doc_bytes)?;
        let finish = FinishRun {
            holder: Holder { run: end.run, session, epoch: end.epoch },
            status: end.status.into(),
            error: end.error,
            base,
            doc: doc.to_json().into(),
        };
        let finished = self.store.finish_run(&finish).await;
        let (run, events) = match finished {
            Err(StoreError::Refused(refusal)) => {
                self.live.forget(&live);
                return Err(refusal.into());
            }
            // Whoever is not answered asks again: nothing was applied here.
            answered => answered?,
        };
        self.live.forget(&live);
        drop(writing);
        self.announce(events);
        self.run_stands(run.id, run.version);
        self.settle_presence(&[run.agent]).await;
        run.try_into()
    }

    /// A run stands differently: those who watch it are told, and those who wait for its end look.
    pub(crate) fn run_stands(&self, run: RunId, version: u64) {
        self.announcer.run_updated(run, version);
        self.waiters.wake(run.0);
    }

    /// The run, when this execution of it has ended just so.
    async fn ended_so(&self, agent: AgentId, end: &EndRun) -> Result<Option<BuiltRun>, Error> {
        let run = self.store.run(agent.into(), end.run).await?;
        let same = |run: &Run| {
            let Run { status, reason, cancel_requested, .. } = *run;
            let stands = Standing { status, reason, cancel_requested };
            run.epoch == end.epoch && run.agent == agent && stands.is_ended_by(end.status)
        };
        run.filter(same).map(BuiltRun::try_from).transpose()
    }

    /// The runs that a session works on which was resumed: they go on here.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn adopt_runs(&self, session: SlotSessionId) -> Result<Vec<BuiltRun>, Error> {
        let held = self.store.held_runs(session).await?;
        held.into_iter()
            .map(|run| {
                self.live.adopt(session, &run)?;
                run.try_into()
            })
            .collect()
    }

    /// Moves on runs, tool calls and agents that stand still; for workers. True when there may be more.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn rescue(&self) -> Result<bool, Error> {
        const AT_ONCE: u32 = 100;
        let rules = store::runs::RescueRules {
            max_attempts: self.runs.max_attempts,
            queue_limit: self.runs.queue_limit,
            max_runtime: self.runs.max_runtime,
            cancel_grace: self.runs.cancel_grace,
        };
        // Each is told before the next is tried: what was written must not wait for what fails.
        let Rescued { events, runs, agents } = self.store.rescue_runs(&rules, AT_ONCE).await?;
        self.announce(events);
        for (run, version) in &runs {
            self.run_stands(*run, *version);
        }
        self.settle_presence(&agents).await;
        let (calls, resolved) = self.store.expire_tools(AT_ONCE).await?;
        self.tools_resolved(&calls, resolved);
        self.settle_presence(&self.store.vanished_agents(AT_ONCE).await?).await;
        Ok(runs.len().max(calls.len()) >= AT_ONCE as usize)
    }
}

/// Refuses JSON that is too large, or that the database can't keep.
pub(crate) fn check_json(field: &'static str, json: &RawJson, max_bytes: usize) -> Result<(), Invalid> {
    let bytes = json.get().len();
    if bytes > max_bytes {
        return Err(Invalid::described(
            field,
            format!("{bytes} bytes"),
            format!("at most {max_bytes} bytes of JSON"),
        ));
    }
    if domain::document::has_nul(json.get()) {
        return Err(Invalid::described(field, "a NUL character", "text without NUL"));
    }
    Ok(())
}

pub(crate) fn check_text(field: &'static str, given: &str, max_bytes: usize) -> Result<(), Invalid> {
    if given.len() > max_bytes {
        let allowed = format!("at most {max_bytes} bytes");
        return Err(Invalid::described(field, format!("{} bytes", given.len()), allowed));
    }
    if given.contains('\0') {
        return Err(Invalid::described(field, "a NUL character", "text without NUL"));
    }
    Ok(())
}
