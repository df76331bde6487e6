//! What becomes of runs that somebody asks for, ends or wants to be stopped: decided here, from what each database finds.

use std::time::Duration;

use domain::run::{Change, Standing};
use domain::{AgentId, Event, EventId, EventKind, FinishStatus, RunId, RunStatus};
use serde_json::json;

use super::locked::LockedRun;
use super::{FinishRun, NewRun};
use crate::error::Refusal;
use crate::log::draft::Draft;

pub(crate) const NO_RUN: Refusal = Refusal::NotFound("run");
pub(crate) const NOT_OFFERED: Refusal =
    Refusal::Conflict("this run waits for a place: it was not offered yet");
pub(crate) const NOT_QUEUED: Refusal =
    Refusal::Conflict("this run is not queued: it was started already, or is over");
const TOO_LONG: Refusal = Refusal::Conflict("too many agents have asked each other in turn");
const ANOTHER: Refusal = Refusal::Conflict("this execution of the run is over, or another consumer has it");

/// Patches that are kept when a snapshot is written, for watchers that are a little behind.
pub(crate) const KEPT_PATCHES: u32 = 64;
/// For how long a run that is over still counts in the chain of agents that ask each other.
pub(crate) const LATELY: Duration = Duration::from_secs(60);

/// What is there to be known before a run is made.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Whether who asks is in the room.
    pub(crate) requester_in: bool,
    /// Whether the agent is.
    pub(crate) agent_in: bool,
    /// Runs before it in the chain of agents.
    pub(crate) hops: i32,
    /// The run that it repeats.
    pub(crate) known: Option<RunId>,
    /// Whether that is of the same room, agent and requester.
    pub(crate) same: bool,
}

/// What becomes of asking for a run.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is made, so far along its chain.
    New(i32),
    /// It was made before.
    Known(RunId),
    /// It is not made.
    Refused(Refusal),
}

impl Asked {
    pub(crate) fn verdict(&self, run: &NewRun) -> Verdict {
        if !self.requester_in {
            return Verdict::Refused(Refusal::NotFound("room"));
        }
        if let Some(known) = self.known {
            return if self.same { Verdict::Known(known) } else { Verdict::Refused(Refusal::NonceReused) };
        }
        if !self.agent_in {
            return Verdict::Refused(Refusal::NotFound("agent"));
        }
        if i64::from(self.hops) > i64::from(run.max_hops) {
            Verdict::Refused(TOO_LONG)
        } else {
            Verdict::New(self.hops)
        }
    }
}

/// Runs that were made, and what is to be told of them.
#[derive(Debug, Default)]
pub(crate) struct Made<'a> {
    pub(crate) runs: Vec<&'a NewRun>,
    /// `run.requested` of those that have a place.
    pub(crate) requested: Vec<Draft>,
}

impl Made<'_> {
    /// `run.created` of each, after what `before` gives for it, then `run.requested` of those that have a place.
    pub(crate) fn drafts(self, before: impl Fn(&NewRun) -> Option<Draft>) -> Vec<Draft> {
        let mut drafts = Vec::with_capacity(self.runs.len() * 3);
        for run in self.runs {
            drafts.extend(before(run));
            let body = json!({ "run_id": run.id, "agent_id": run.agent });
            drafts.push(Draft::of_member(run.requester, run.room, EventKind::RunCreated, &body));
        }
        drafts.extend(self.requested);
        drafts
    }
}

/// A message as it stands in the stream of an agent that it mentions. Its nonce is the message's id, by which it is found when that
/// is deleted.
pub(crate) fn copy(message: &Event, agent: AgentId) -> Draft {
    Draft {
        stream: agent.into(),
        id: EventId::new(),
        kind: message.kind.clone(),
        sender: message.sender,
        nonce: Some(message.id.to_string()),
        data: message.data.clone(),
        trace: message.trace.clone(),
        notice: None,
    }
}

/// How a holder may end its run.
pub(crate) fn finish_status(status: RunStatus) -> Result<FinishStatus, Refusal> {
    const ALLOWED: Refusal = Refusal::Invalid("status", "succeeded, failed or cancelled");
    status.as_str().parse().map_err(|_| ALLOWED)
}

/// What a finishing call finds.
#[derive(Debug)]
pub(crate) enum Found {
    /// It ends there.
    Held(Standing),
    /// This execution came to this end before: the answer was lost.
    Ended,
}

impl LockedRun {
    /// What its end by a holder comes to; `own`: the session has a place of its agent.
    pub(crate) fn finished(
        &self,
        finish: &FinishRun,
        status: FinishStatus,
        own: bool,
    ) -> Result<Found, Refusal> {
        let holds = self.holder == Some(finish.holder.session);
        if self.epoch == finish.holder.epoch {
            if holds && let Some(to) = self.after(Change::Finish(status)) {
                return Ok(Found::Held(to));
            }
            // Whoever resumed meanwhile asks under another session.
            if self.standing.is_ended_by(status) && (holds || own) {
                return Ok(Found::Ended);
            }
        }
        Err(ANOTHER)
    }

    /// Whether somebody may ask for it to be stopped: who does not see it is not told that it is there.
    pub(crate) fn stoppable(&self, sees: bool, may: bool) -> Result<(), Refusal> {
        if !sees {
            return Err(NO_RUN);
        }
        if !may {
            return Err(Refusal::Forbidden);
        }
        if self.standing.status.is_final() && self.standing.status != RunStatus::Cancelled {
            return Err(Refusal::Conflict("this run is over already"));
        }
        Ok(())
    }
}
