//! Taking a consumer's place.
//!
//! Who identifies takes the runs from the former holder: they go back to the queue and are told anew, at places they keep.
//! Who resumes goes on with them. The same connection that asks again, after a lost answer, keeps what it has.

use domain::{ConsumerId, RunId, Sender, SlotSessionId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{AGENT, HELD, STAND, STAY, TAKE, UNTOLD};
use crate::consumers::{ConsumerOutcome, ConsumerSlot, TakeConsumer};
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append, Draft};
use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::runs::locked::ids;
use crate::postgres::runs::moves::requested;
use crate::postgres::runs::{PLACED, TRANSFER};
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::Transaction;
use crate::runs::locked::{LockedRun, Move};

/// A place before it is taken, under its lock.
struct Place {
    consumer: Uuid,
    name: String,
    epoch: u64,
    session: Uuid,
    connection: Uuid,
    live: bool,
}

impl Place {
    fn read(rows: &[Row]) -> Result<Option<Self>, Fault> {
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Self {
            consumer: row.value("id")?,
            name: row.value("name")?,
            epoch: row.count("epoch")?,
            session: row.value("holder_session_id")?,
            connection: row.value("connection_id")?,
            live: row.value("live")?,
        }))
    }
}

impl Postgres {
    pub(super) async fn try_identify(
        &self,
        attempt: &TakeConsumer,
        name: &str,
    ) -> Result<ConsumerOutcome, Fault> {
        let session = self.session().await?;
        let (agent, nobody) = (attempt.agent.0, None::<Uuid>);
        // Which of them are held is seen under the lock.
        let placed = ids(&session.query(PLACED, &[&agent]).await?)?;
        let mut streams = session.streams_of(&placed).await?;
        streams.push(agent);
        let (transaction, [_, here, stands, held]) = session
            .begin([
                (append::LOCK, &[&streams]),
                (AGENT, &[&agent]),
                (STAND, &[&agent, &name, &nobody, &attempt.connection.0]),
                (HELD, &[&agent, &name]),
            ])
            .await?;
        if here.is_empty() {
            transaction.rollback().await;
            return Ok(ConsumerOutcome::UnknownAgent);
        }
        let looked = Place::read(&stands).and_then(|place| Ok((place, ids(&held)?)));
        let (transaction, (place, held)) = transaction.decided(looked).await?;
        if let Some(place) = place.as_ref().filter(|place| place.connection == attempt.connection.0) {
            return transaction.stay(attempt, place, Vec::new()).await;
        }
        let runs = transaction.locked_runs(&held).await;
        let (transaction, runs) = transaction.decided(runs).await?;
        let moves: Vec<Move<'_>> = runs.iter().filter_map(LockedRun::handed_back).collect();
        let moved = transaction.move_runs(&moves, Sender::System, &streams).await;
        let (transaction, drafts) = transaction.decided(moved).await?;
        let append = Append::new(&drafts);
        let taken = transaction.take(attempt, name, place.is_some_and(|place| place.live)).await;
        let (transaction, slot) = transaction.decided(taken).await?;
        let [written, untold] = transaction
            .run([(append::APPEND, &append.params()), (UNTOLD, &[&agent, &bigint(slot.cursor)])])
            .await?;
        let told = untold.iter().map(requested).collect::<Result<Vec<Draft>, Fault>>();
        let told = told.and_then(|told| Ok((append.events(&written)?, told)));
        let (transaction, (mut events, told)) = transaction.decided(told).await?;
        events.extend(transaction.append_all(&told).await?);
        Ok(ConsumerOutcome::Taken { slot, events, runs: moves.iter().map(|one| one.run.id).collect() })
    }

    pub(super) async fn try_resume(
        &self,
        attempt: &TakeConsumer,
        resumes: SlotSessionId,
    ) -> Result<ConsumerOutcome, Fault> {
        let session = self.session().await?;
        let (agent, no_name) = (attempt.agent.0, None::<&str>);
        let (transaction, [_, here, stands]) = session
            .begin([
                (append::LOCK, &[&[agent].as_slice()]),
                (AGENT, &[&agent]),
                (STAND, &[&agent, &no_name, &resumes.0, &attempt.connection.0]),
            ])
            .await?;
        let (transaction, place) = transaction.decided(Place::read(&stands)).await?;
        let Some(place) = place.filter(|_| !here.is_empty()) else {
            transaction.rollback().await;
            return Ok(if here.is_empty() {
                ConsumerOutcome::UnknownAgent
            } else {
                ConsumerOutcome::NotResumable
            });
        };
        if place.connection == attempt.connection.0 {
            let held = transaction.run([(HELD, &[&agent, &place.name])]).await;
            let (transaction, runs) = transaction.decided(held.and_then(|[held]| ids(&held))).await?;
            return transaction.stay(attempt, &place, runs).await;
        }
        let taken = transaction.take(attempt, &place.name, place.live).await;
        let (transaction, slot) = transaction.decided(taken).await?;
        let [runs] = transaction
            .commit([(TRANSFER, &[&place.session, &slot.session.0, &micros(attempt.live_for)])])
            .await?;
        let runs = ids(&runs)?.into_iter().map(RunId).collect();
        Ok(ConsumerOutcome::Taken { slot, events: Vec::new(), runs })
    }
}

impl Transaction<'_> {
    /// Takes the place.
    async fn take(&self, attempt: &TakeConsumer, name: &str, contested: bool) -> Result<ConsumerSlot, Fault> {
        let (agent, node, live_for) = (attempt.agent.0, attempt.node.0, micros(attempt.live_for));
        let (fresh, session, connection) = (ConsumerId::new().0, attempt.session.0, attempt.connection.0);
        let [taken] =
            self.run([(TAKE, &[&fresh, &agent, &name, &session, &connection, &node, &live_for])]).await?;
        slot(attempt, &taken, contested)
    }

    /// Leaves the place with the connection that has it. Whether somebody else had it before is not known any more, so
    /// it is contested unless nobody ever had.
    async fn stay(
        self,
        attempt: &TakeConsumer,
        place: &Place,
        runs: Vec<Uuid>,
    ) -> Result<ConsumerOutcome, Fault> {
        let [kept] =
            self.commit([(STAY, &[&place.consumer, &attempt.node.0, &micros(attempt.live_for)])]).await?;
        let slot = slot(attempt, &kept, place.epoch > 1)?;
        Ok(ConsumerOutcome::Taken { slot, events: Vec::new(), runs: runs.into_iter().map(RunId).collect() })
    }
}

fn slot(attempt: &TakeConsumer, rows: &[Row], contested: bool) -> Result<ConsumerSlot, Fault> {
    let row = rows.first().ok_or_else(|| Fault::internal("a consumer's place is not there"))?;
    Ok(ConsumerSlot {
        consumer: ConsumerId(row.value("id")?),
        agent: attempt.agent,
        session: SlotSessionId(row.value("holder_session_id")?),
        epoch: row.count("epoch")?,
        cursor: row.count("cursor")?,
        contested,
    })
}
