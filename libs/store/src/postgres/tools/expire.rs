//! Expiring calls whose time is over: found without a lock, a page at a time, then ended an agent at a time, as a rescue
//! of runs does.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, Event, Sender};
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{EXPIRE, GO_ON, OVERDUE, read};
use crate::error::StoreError;
use crate::postgres::append::{self, Draft};
use crate::postgres::row::Columns;
use crate::postgres::runs::LOCK as LOCK_RUNS;
use crate::postgres::sqlstate::Fault;
use crate::postgres::{Postgres, repeated};
use crate::tools::ToolCall;
use crate::tools::judge::ended;

/// Calls of one agent whose time is over, and what is to be locked for their end.
#[derive(Default)]
struct Overdue {
    calls: Vec<Uuid>,
    runs: BTreeSet<Uuid>,
    people: BTreeSet<Uuid>,
}

/// A page of calls whose time is over.
#[derive(Default)]
struct Page {
    by_agent: BTreeMap<AgentId, Overdue>,
    last: Option<(Timestamp, Uuid)>,
}

impl Page {
    fn read(rows: &[Row]) -> Result<Self, Fault> {
        let mut page = Self::default();
        for row in rows {
            let call = row.value("id")?;
            let overdue = page.by_agent.entry(AgentId(row.value("agent_id")?)).or_default();
            overdue.calls.push(call);
            overdue.runs.insert(row.value("run_id")?);
            overdue.people.insert(row.value("user_id")?);
            page.last = Some((row.value("deadline")?, call));
        }
        Ok(page)
    }
}

impl Postgres {
    pub(super) async fn expire(&self, limit: u32) -> Result<(Vec<ToolCall>, Vec<Event>), StoreError> {
        let (mut calls, mut events) = (Vec::new(), Vec::new());
        let mut failed = None;
        let mut after = Some((Timestamp::UNIX_EPOCH, Uuid::nil()));
        while let Some((deadline, id)) = after {
            let left = limit.saturating_sub(u32::try_from(calls.len()).unwrap_or(u32::MAX));
            let rows = self.rows(OVERDUE, &[&deadline, &id, &i64::from(left)]).await?;
            let page = Page::read(&rows)?;
            for (agent, overdue) in page.by_agent {
                match repeated!(self.try_expire(agent, &overdue)) {
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
            // After a full page there may be more, when not all of it was expired.
            after = page.last.filter(|_| rows.len() as u64 >= u64::from(left));
        }
        match failed {
            // What was done must be told. The others are found again.
            Some(error) if calls.is_empty() => Err(error),
            _ => Ok((calls, events)),
        }
    }

    async fn try_expire(
        &self,
        agent: AgentId,
        overdue: &Overdue,
    ) -> Result<(Vec<ToolCall>, Vec<Event>), Fault> {
        let streams: Vec<Uuid> = overdue.people.iter().copied().chain([agent.0]).collect();
        let runs: Vec<Uuid> = overdue.runs.iter().copied().collect();
        let session = self.session().await?;
        let (transaction, [_, _, expired, _]) = session
            .begin([
                (append::LOCK, &[&streams]),
                (LOCK_RUNS, &[&runs]),
                (EXPIRE, &[&overdue.calls]),
                (GO_ON, &[&runs]),
            ])
            .await?;
        let (transaction, (calls, drafts)) = transaction.decided(told(&expired)).await?;
        transaction.withdraw(&expired).await?;
        let events = transaction.append_all(&drafts).await?;
        Ok((calls, events))
    }
}

/// Calls that expired, and what is to be told of them.
fn told(expired: &[Row]) -> Result<(Vec<ToolCall>, Vec<Draft>), Fault> {
    let calls = expired.iter().map(read).collect::<Result<Vec<ToolCall>, Fault>>()?;
    let mut drafts = Vec::with_capacity(calls.len() * 2);
    for call in &calls {
        drafts.extend(ended(call, Sender::System)?);
    }
    Ok((calls, drafts))
}
