//! Moving on what stands still.
//!
//! What may be stalled is read a page at a time. Then each agent's runs are moved in a transaction of their own: what is wrong with one
//! agent's keeps nobody else's from going on, and nobody waits for long. Whether a run is stalled is decided there.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, Sender};
use uuid::Uuid;

use super::STALLED;
use super::moves::move_runs;
use super::read::locked_runs;
use crate::error::StoreError;
use crate::runs::locked::Move;
use crate::runs::{RescueRules, Rescued};
use crate::sqlite::Sqlite;
use crate::sqlite::append::append_all;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// A place in the order of what stands still: since when, and which run.
type Position = (i64, Uuid);

/// A page of runs that may stand still.
struct Page {
    by_agent: BTreeMap<AgentId, BTreeSet<Uuid>>,
    /// After what the next page begins; none when this one is the last.
    next: Option<Position>,
}

impl Sqlite {
    pub(super) async fn rescue(&self, rules: &RescueRules, limit: u32) -> Result<Rescued, StoreError> {
        let (rules, most) = (*rules, usize::try_from(limit).unwrap_or(usize::MAX));
        let mut rescued = Rescued::default();
        let mut failed = None;
        let mut after = Some((0, Uuid::nil()));
        while let Some(begin) = after
            && rescued.runs.len() < most
        {
            let page = self.read(move |tx| stalled(tx, &rules, begin, limit)).await?;
            for (agent, runs) in page.by_agent {
                let runs: Vec<Uuid> = runs.into_iter().take(most - rescued.runs.len()).collect();
                match self.write(move |tx| rescue(tx, &rules, &runs)).await {
                    Ok(moved) if moved.runs.is_empty() => {}
                    Ok(moved) => {
                        rescued.events.extend(moved.events);
                        rescued.runs.extend(moved.runs);
                        rescued.agents.push(agent);
                    }
                    Err(error) => {
                        tracing::warn!(%agent, %error, "runs that stand still could not be moved on");
                        failed = Some(error);
                    }
                }
            }
            after = page.next;
        }
        match failed {
            // What was done must be told. The others are found again.
            Some(error) if rescued.runs.is_empty() => Err(error),
            _ => Ok(rescued),
        }
    }
}

fn stalled(tx: &Tx<'_>, rules: &RescueRules, (since, id): Position, limit: u32) -> Result<Page, Fault> {
    let (stop, start) = (tx.before(rules.cancel_grace), tx.before(rules.max_runtime));
    let queued = tx.before(rules.queue_limit);
    let rows = tx.rows(STALLED, &[&tx.micros(), &stop, &start, &queued, &since, &id, &limit], |row| {
        let position: Position = (row.value("since")?, row.value("id")?);
        Ok((position, AgentId(row.value("agent_id")?)))
    })?;
    let next = rows.last().map(|(position, _)| *position).filter(|_| rows.len() as u64 >= u64::from(limit));
    let mut by_agent: BTreeMap<AgentId, BTreeSet<Uuid>> = BTreeMap::new();
    for ((_, run), agent) in rows {
        by_agent.entry(agent).or_default().insert(run);
    }
    Ok(Page { by_agent, next })
}

/// Moves on those of an agent's runs that stand still indeed.
fn rescue(tx: &Tx<'_>, rules: &RescueRules, asked: &[Uuid]) -> Result<Rescued, Fault> {
    let runs = locked_runs(tx, asked)?;
    let moves: Vec<Move<'_>> = runs.iter().filter_map(|run| run.rescued(rules)).collect();
    let events = append_all(tx, &move_runs(tx, &moves, Sender::System)?)?;
    let runs = moves.iter().map(|one| (one.run.id, one.run.version)).collect();
    Ok(Rescued { events, runs, agents: Vec::new() })
}
