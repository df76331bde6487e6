//! Asking for runs, alone or by a message.

use domain::{EventId, RunId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::locked::ids;
use super::moves::requested;
use super::{CREATE, JUDGE, OFFER, READ, read};
use crate::messages::{Appended, NewMessage};
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append};
use crate::postgres::messages;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::{Step, Transaction};
use crate::queue::Fence;
use crate::runs::rules::{Asked, Made, Verdict, copy};
use crate::runs::{NewRun, Requested, RunCreated};

/// Runs as the parameters of `runs/judge` and `runs/create`.
struct Batch<'a> {
    ids: Vec<Uuid>,
    rooms: Vec<Uuid>,
    agents: Vec<Uuid>,
    kinds: Vec<&'static str>,
    requesters: Vec<Uuid>,
    causes: Vec<Option<&'a str>>,
    inputs: Vec<&'a str>,
    hops: Vec<i32>,
}

impl<'a> Batch<'a> {
    /// Runs whose chains are not known yet.
    fn asked(runs: &'a [NewRun]) -> Self {
        Self::of(&runs.iter().map(|run| (run, 0)).collect::<Vec<_>>())
    }

    fn of(runs: &[(&'a NewRun, i32)]) -> Self {
        let all = || runs.iter().map(|(run, _)| *run);
        Self {
            ids: all().map(|run| run.id.0).collect(),
            rooms: all().map(|run| run.room.0).collect(),
            agents: all().map(|run| run.agent.0).collect(),
            kinds: all().map(|run| run.requester.kind()).collect(),
            requesters: all().map(|run| run.requester.id()).collect(),
            causes: all().map(|run| run.cause.as_deref()).collect(),
            inputs: all().map(|run| &*run.input).collect(),
            hops: runs.iter().map(|(_, hops)| *hops).collect(),
        }
    }

    /// Streams to be locked.
    fn streams(&self) -> Vec<Uuid> {
        self.rooms.iter().chain(&self.agents).copied().collect()
    }

    fn questions(&self) -> [&(dyn ToSql + Sync); 6] {
        [&self.ids, &self.rooms, &self.agents, &self.kinds, &self.requesters, &self.causes]
    }

    fn params<'b>(&'b self, message: &'b Option<Uuid>) -> [&'b (dyn ToSql + Sync); 9] {
        let [ids, rooms, agents, kinds, requesters, causes] = self.questions();
        [ids, rooms, agents, kinds, requesters, causes, &self.inputs, &self.hops, message]
    }
}

/// What becomes of each, from the rows of `runs/judge`.
fn verdicts(runs: &[NewRun], rows: &[Row]) -> Result<Vec<Verdict>, Fault> {
    if rows.len() != runs.len() {
        return Err(Fault::internal("another number of verdicts than of runs"));
    }
    runs.iter().zip(rows).map(|(run, row)| Ok(asked(row)?.verdict(run))).collect()
}

fn asked(row: &Row) -> Result<Asked, Fault> {
    Ok(Asked {
        requester_in: row.value("requester_in")?,
        agent_in: row.value("agent_in")?,
        hops: row.value("hops")?,
        known: row.value::<Option<Uuid>>("known")?.map(RunId),
        same: row.value("same")?,
    })
}

impl Postgres {
    /// Makes a run; in the name of a run of a task, if there is a fence.
    pub(in crate::postgres) async fn try_create_run(
        &self,
        run: &NewRun,
        fence: Option<&Fence>,
    ) -> Result<RunCreated, Fault> {
        let asked = std::slice::from_ref(run);
        let batch = Batch::asked(asked);
        let (streams, questions) = ([&batch.streams() as _], batch.questions());
        let steps: [Step<'_>; 2] = [(append::LOCK, &streams), (JUDGE, &questions)];
        let session = self.session().await?;
        let (transaction, [_, rows]) = session.begin_within(fence, steps).await?;
        let verdict = verdicts(asked, &rows)
            .and_then(|mut verdicts| verdicts.pop().ok_or_else(|| Fault::internal("no verdict")));
        let (transaction, verdict) = transaction.decided(verdict).await?;
        let hops = match verdict {
            Verdict::New(hops) => hops,
            Verdict::Known(known) => {
                let [rows] = transaction.commit([(READ, &[&[known.0].as_slice()])]).await?;
                return Ok(RunCreated { run: read::the_run(&rows)?, created: false, events: Vec::new() });
            }
            Verdict::Refused(refusal) => {
                transaction.rollback().await;
                return Err(refusal.into());
            }
        };
        let made = transaction.make(&[(run, hops)], None).await;
        let (transaction, made) = transaction.decided(made).await?;
        let drafts = made.drafts(|_| None);
        let append = Append::new(&drafts);
        let [written, rows] = transaction
            .commit([(append::APPEND, &append.params()), (READ, &[&[run.id.0].as_slice()])])
            .await?;
        Ok(RunCreated { run: read::the_run(&rows)?, created: true, events: append.events(&written)? })
    }

    /// Appends a message with the runs that it asks for; in the name of a run of a task, if there is a fence.
    pub(in crate::postgres) async fn try_append_request(
        &self,
        message: &NewMessage,
        runs: &[NewRun],
        fence: Option<&Fence>,
    ) -> Result<Requested, Fault> {
        let alone = messages::Batch::new(std::slice::from_ref(message));
        let batch = Batch::asked(runs);
        let mut streams = batch.streams();
        streams.extend(alone.streams());
        let (streams, appending, questions) = ([&streams as _], alone.params(), batch.questions());
        let steps: [Step<'_>; 3] =
            [(append::LOCK, &streams), (messages::APPEND, &appending), (JUDGE, &questions)];
        let session = self.session().await?;
        let (transaction, [_, appended, rows]) = session.begin_within(fence, steps).await?;
        let judged =
            the_message(&alone, &appended).and_then(|appended| Ok((appended, verdicts(runs, &rows)?)));
        let (transaction, (appended, verdicts)) = transaction.decided(judged).await?;
        let mut outcome = Requested { appended, events: Vec::new(), runs: Vec::new(), refused: Vec::new() };
        if !outcome.appended.fresh {
            transaction.rollback().await;
            return Ok(outcome);
        }
        let mut fresh = Vec::new();
        for (run, verdict) in runs.iter().zip(verdicts) {
            match verdict {
                Verdict::New(hops) => fresh.push((run, hops)),
                Verdict::Known(_) => {}
                Verdict::Refused(refusal) => outcome.refused.push((run.agent, refusal)),
            }
        }
        let made = transaction.make(&fresh, Some(message.id)).await;
        let (transaction, made) = transaction.decided(made).await?;
        outcome.runs = made.runs.iter().map(|run| run.id).collect();
        let event = outcome.appended.event.clone();
        let drafts = made.drafts(|run| Some(copy(&event, run.agent)));
        outcome.events.push(event);
        outcome.events.extend(transaction.notify(alone.notices()).await?);
        outcome.events.extend(transaction.append_all(&drafts).await?);
        Ok(outcome)
    }
}

/// What came of a message that was appended alone.
fn the_message(alone: &messages::Batch<'_>, rows: &[Row]) -> Result<Appended, Fault> {
    let outcome = alone.outcomes(rows)?.pop().ok_or_else(|| Fault::internal("a message without verdict"))?;
    Ok(outcome?)
}

impl Transaction<'_> {
    /// Makes runs, so far along their chains, that a message asks for, and gives them the places that are free.
    async fn make<'a>(
        &self,
        runs: &[(&'a NewRun, i32)],
        message: Option<EventId>,
    ) -> Result<Made<'a>, Fault> {
        if runs.is_empty() {
            return Ok(Made::default());
        }
        let (batch, message) = (Batch::of(runs), message.map(Uuid::from));
        let [made, offered] =
            self.run([(CREATE, &batch.params(&message)), (OFFER, &[&batch.agents])]).await?;
        let made = ids(&made)?;
        Ok(Made {
            runs: runs.iter().map(|(run, _)| *run).filter(|run| made.contains(&run.id.0)).collect(),
            requested: offered.iter().map(requested).collect::<Result<_, Fault>>()?,
        })
    }
}
