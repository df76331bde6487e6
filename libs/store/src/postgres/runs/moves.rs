//! Moving runs, and what follows from it: calls of tools that nobody waits for any more are cancelled, free places are given to
//! the next runs, and everybody concerned is told.

use std::collections::BTreeSet;

use domain::run::Reason;
use domain::{AgentId, RoomId, RunId, RunStatus, Sender, ToolCallId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{MOVE, OFFER};
use crate::postgres::append::Draft;
use crate::postgres::row::{self, Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::tools;
use crate::postgres::transaction::{Step, Transaction};
use crate::runs::events::{Request, Resolved, finished};
use crate::runs::locked::{LockedRun, Move};

impl Transaction<'_> {
    /// Moves runs, in somebody's name. `locked` are the streams that the transaction holds. Gives what is to be appended.
    ///
    /// # Errors
    ///
    /// As [`Self::leave`].
    pub(in crate::postgres) async fn move_runs(
        &self,
        moves: &[Move<'_>],
        by: Sender,
        locked: &[Uuid],
    ) -> Result<Vec<Draft>, Fault> {
        if moves.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = moves.iter().map(|one| one.run.id.0).collect();
        let epochs: Vec<i64> = moves.iter().map(|one| bigint(one.run.epoch)).collect();
        let before: Vec<&str> = moves.iter().map(|one| one.run.standing.status.as_str()).collect();
        let after: Vec<&str> = moves.iter().map(|one| one.to.status.as_str()).collect();
        let reasons: Vec<Option<&str>> = moves.iter().map(|one| one.to.reason.map(Reason::as_str)).collect();
        let refunds: Vec<i32> = moves.iter().map(|one| one.refund).collect();
        let runs: Vec<&LockedRun> = moves.iter().map(|one| one.run).collect();
        self.leave((MOVE, &[&ids, &epochs, &before, &after, &reasons, &refunds]), &runs, by, locked).await
    }

    /// Runs a statement by which runs leave their holder or their queue, then what follows. The statement gives a row for each of
    /// them, with `id, room_id, agent_id, status`, and for those that are queued again what `run.requested` needs.
    ///
    /// # Errors
    ///
    /// `Contended` when somebody is to be told whose stream is not among those `locked`: a call of their tool came between the look and
    /// the lock.
    pub(in crate::postgres) async fn leave(
        &self,
        change: Step<'_>,
        runs: &[&LockedRun],
        by: Sender,
        locked: &[Uuid],
    ) -> Result<Vec<Draft>, Fault> {
        let ids: Vec<Uuid> = runs.iter().map(|run| run.id.0).collect();
        let agents: BTreeSet<Uuid> = runs.iter().map(|run| run.agent.0).collect();
        let agents: Vec<Uuid> = agents.into_iter().collect();
        let [changed, gone, offered] =
            self.run([change, (tools::CANCEL, &[&ids]), (OFFER, &[&agents])]).await?;
        self.withdraw(&gone).await?;
        if changed.len() != runs.len() {
            return Err(Fault::internal("a run moved although it was locked"));
        }
        let mut drafts = Vec::new();
        for row in &gone {
            drafts.extend(cancelled(row, by)?);
        }
        for row in &changed {
            drafts.push(left(row, runs, by)?);
        }
        for row in &offered {
            drafts.push(requested(row)?);
        }
        if drafts.iter().all(|draft| locked.contains(&draft.stream.id)) {
            Ok(drafts)
        } else {
            Err(Fault::Contended("somebody's tool was called meanwhile".into()))
        }
    }

    /// Gives the free places of an agent, whose stream is locked, to its next runs.
    pub(in crate::postgres) async fn offer(&self, agents: &[Uuid]) -> Result<Vec<Draft>, Fault> {
        let [offered] = self.run([(OFFER, &[&agents])]).await?;
        offered.iter().map(requested).collect()
    }
}

/// What is told of a run that left its holder or its queue.
fn left(row: &Row, runs: &[&LockedRun], by: Sender) -> Result<Draft, Fault> {
    let (id, status) = (RunId(row.value("id")?), row.named("status")?);
    if status == RunStatus::Queued {
        return requested(row);
    }
    let run = runs.iter().find(|run| run.id == id);
    Ok(finished(run.ok_or_else(|| Fault::internal("a run moved that was not to"))?, status, by)?)
}

/// `run.requested`, from the columns `id, room_id, agent_id, requester_kind, requester_id, input`.
pub(in crate::postgres) fn requested(row: &Row) -> Result<Draft, Fault> {
    let request = Request {
        run: RunId(row.value("id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        requester: row::principal(row, "requester_kind", "requester_id")?,
        input: row.value("input")?,
    };
    Ok(request.draft()?)
}

/// `tool.resolved`, twice, of a call that went with its run, from the columns `id, run_id, agent_id, user_id`.
fn cancelled(row: &Row, by: Sender) -> Result<[Draft; 2], Fault> {
    let call = Resolved {
        call: ToolCallId(row.value("id")?),
        run: RunId(row.value("run_id")?),
        agent: AgentId(row.value("agent_id")?),
        user: UserId(row.value("user_id")?),
        status: "cancelled",
        result: None,
        error: None,
    };
    Ok(call.drafts(by)?)
}
