//! Ending calls that nobody can answer any more: read a page at a time, then ended an agent at a time, as a rescue of runs does.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, Event, Sender};
use uuid::Uuid;

use super::{EXPIRE, GO_ON, OVERDUE, ended, read};
use crate::error::StoreError;
use crate::sqlite::Sqlite;
use crate::sqlite::append::append_all;
use crate::sqlite::fault::Fault;
use crate::sqlite::notifications::withdraw;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;
use crate::tools::ToolCall;

/// A place in the order of calls: the deadline, and which.
type Position = (i64, Uuid);

/// A page of calls whose time is over.
struct Page {
    by_agent: BTreeMap<AgentId, Vec<Uuid>>,
    /// After what the next page begins; none when this one is the last.
    next: Option<Position>,
}

impl Sqlite {
    pub(super) async fn expire(&self, limit: u32) -> Result<(Vec<ToolCall>, Vec<Event>), StoreError> {
        let (mut calls, mut events) = (Vec::new(), Vec::new());
        let mut failed = None;
        let mut after = Some((0, Uuid::nil()));
        while let Some(begin) = after {
            let left = limit.saturating_sub(u32::try_from(calls.len()).unwrap_or(u32::MAX));
            let page = self.read(move |tx| overdue(tx, begin, left)).await?;
            for (agent, asked) in page.by_agent {
                match self.write(move |tx| expire(tx, &asked)).await {
                    Ok((expired, told)) => {
                        calls.extend(expired);
                        events.extend(told);
                    }
                    Err(error) => {
                        tracing::warn!(%agent, %error, "calls of tools could not be expired");
                        failed = Some(error);
                    }
                }
            }
            after = page.next;
        }
        match failed {
            // What was done must be told. The others are found again.
            Some(error) if calls.is_empty() => Err(error),
            _ => Ok((calls, events)),
        }
    }
}

fn overdue(tx: &Tx<'_>, (deadline, id): Position, limit: u32) -> Result<Page, Fault> {
    let rows = tx.rows(OVERDUE, &[&tx.micros(), &deadline, &id, &limit], |row| {
        let position: Position = (row.value("deadline")?, row.value("id")?);
        Ok((position, AgentId(row.value("agent_id")?)))
    })?;
    // After a full page there may be more, when not all of it was expired.
    let next = rows.last().map(|(position, _)| *position).filter(|_| rows.len() as u64 >= u64::from(limit));
    let mut by_agent: BTreeMap<AgentId, Vec<Uuid>> = BTreeMap::new();
    for ((_, call), agent) in rows {
        by_agent.entry(agent).or_default().push(call);
    }
    Ok(Page { by_agent, next })
}

/// Ends those of an agent's calls that nobody can answer any more indeed.
fn expire(tx: &Tx<'_>, asked: &[Uuid]) -> Result<(Vec<ToolCall>, Vec<Event>), Fault> {
    let mut calls = tx.rows(EXPIRE, &[&array(asked.iter().copied()), &tx.micros()], read)?;
    calls.sort_by_key(|call| (call.deadline, call.id));
    let runs: BTreeSet<Uuid> = calls.iter().map(|call| call.run.0).collect();
    tx.execute(GO_ON, &[&array(runs)])?;
    let gone: Vec<Uuid> = calls.iter().map(|call| call.id.0).collect();
    withdraw(tx, &gone)?;
    let mut drafts = Vec::with_capacity(calls.len() * 2);
    for call in &calls {
        drafts.extend(ended(call, Sender::System)?);
    }
    let events = append_all(tx, &drafts)?;
    Ok((calls, events))
}
