//! Moving on what stands still.
//!
//! What may be stalled is found without a lock, a page at a time. Then each agent's runs are moved in a transaction of their
//! own: what is wrong with one agent's keeps nobody else's from going on, and nobody is locked for long. Whether
//! a run is stalled is decided under its lock, by the database's clock; so several workers may do this at once.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, Sender};
use jiff::Timestamp;
use uuid::Uuid;

use super::{LOCK, STALLED, locked};
use crate::error::StoreError;
use crate::postgres::append;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::{Postgres, repeated};
use crate::runs::locked::Move;
use crate::runs::{RescueRules, Rescued};

/// A page of runs that may stand still.
struct Page {
    by_agent: BTreeMap<AgentId, BTreeSet<Uuid>>,
    /// After what the next page begins; none when this one is the last.
    next: Option<(Timestamp, Uuid)>,
}

impl Postgres {
    pub(super) async fn rescue(&self, rules: &RescueRules, limit: u32) -> Result<Rescued, StoreError> {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut rescued = Rescued::default();
        let mut failed = None;
        let mut after = Some((Timestamp::UNIX_EPOCH, Uuid::nil()));
        while let Some(begin) = after
            && rescued.runs.len() < most
        {
            let page = self.stalled(rules, begin, limit).await?;
            for (agent, runs) in page.by_agent {
                let runs: Vec<Uuid> = runs.into_iter().take(most - rescued.runs.len()).collect();
                let moved: Result<Rescued, StoreError> = repeated!(self.try_rescue(rules, &runs));
                match moved {
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

    async fn stalled(
        &self,
        rules: &RescueRules,
        (since, id): (Timestamp, Uuid),
        limit: u32,
    ) -> Result<Page, StoreError> {
        let (wait, work) = (micros(rules.queue_limit), micros(rules.max_runtime));
        let (grace, limit) = (micros(rules.cancel_grace), i64::from(limit));
        let rows = self.rows(STALLED, &[&wait, &work, &grace, &since, &id, &limit]).await?;
        let mut page = Page { by_agent: BTreeMap::new(), next: None };
        for row in &rows {
            let (run, agent) = (row.value("id").map_err(StoreError::from)?, row.value("agent_id"));
            let agent = AgentId(agent.map_err(StoreError::from)?);
            page.by_agent.entry(agent).or_default().insert(run);
            page.next = Some((row.value("since").map_err(StoreError::from)?, run));
        }
        page.next = page.next.filter(|_| rows.len() as i64 >= limit);
        Ok(page)
    }

    /// Moves on those of an agent's runs that stand still indeed.
    async fn try_rescue(&self, rules: &RescueRules, asked: &[Uuid]) -> Result<Rescued, Fault> {
        let session = self.session().await?;
        let streams = session.streams_of(asked).await?;
        let (transaction, [_, rows]) =
            session.begin([(append::LOCK, &[&streams]), (LOCK, &[&asked])]).await?;
        let (transaction, runs) = transaction.decided(locked::read_all(&rows)).await?;
        let moves: Vec<Move<'_>> = runs.iter().filter_map(|run| run.rescued(rules)).collect();
        let drafts = transaction.move_runs(&moves, Sender::System, &streams).await;
        let (transaction, drafts) = transaction.decided(drafts).await?;
        let events = transaction.append_all(&drafts).await?;
        let runs = moves.iter().map(|one| (one.run.id, one.run.version)).collect();
        Ok(Rescued { events, runs, agents: Vec::new() })
    }
}
