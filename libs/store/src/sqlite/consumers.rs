//! The [`Consumers`] of SQLite. What becomes of the runs of a former holder is in [`take`].

use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, ConsumerId, LogEpoch, RoomId, RunId, SlotSessionId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use super::Sqlite;
use super::agents;
use super::fault::Fault;
use super::row::Columns;
use super::runs::{EMPTIED, LEASE};
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::consumers::{
    AgentPresence, AgentSnapshot, BEYOND_HEAD, ConsumerOutcome, Consumers, Kept, NOT_HELD, TakeConsumer,
};
use crate::error::StoreError;
use crate::log::RoomSummary;
use crate::number::bigint;

mod take;

statements! {
    AGENT = "consumers/agent";
    STAND = "consumers/stand";
    HELD = "consumers/held";
    TAKE = "consumers/take";
    STAY = "consumers/stay";
    UNTOLD = "consumers/untold";
    HOLDS = "consumers/holds";
    PLACE = "consumers/place";
    EPOCHS = "consumers/epochs";
    ACK = "consumers/ack";
    KEEP = "consumers/keep";
    RELEASE = "consumers/release";
    SNAPSHOT = "consumers/snapshot";
    FOLLOWED = "consumers/followed";
    SETTLE = "consumers/settle";
    VANISHED = "consumers/vanished";
    PRESENCE = "consumers/presence";
    PRESENCE_AROUND = "consumers/presence_around";
    ROOMS = "consumers/rooms";
}

#[async_trait]
impl Consumers for Sqlite {
    async fn take_consumer(&self, attempt: &TakeConsumer) -> Result<ConsumerOutcome, StoreError> {
        let attempt = attempt.clone();
        self.write(move |tx| take::take(tx, &attempt)).await
    }

    async fn agent_snapshot(&self, agent: AgentId) -> Result<Option<AgentSnapshot>, StoreError> {
        self.read(move |tx| {
            let Some(begun) = tx.row(SNAPSHOT, &[&agent.0], snapshot)? else { return Ok(None) };
            Ok(Some(AgentSnapshot { rooms: tx.rows(FOLLOWED, &[&agent.0], summary)?, ..begun }))
        })
        .await
    }

    async fn holds_consumer(&self, session: SlotSessionId) -> Result<bool, StoreError> {
        self.read(move |tx| tx.exists(HOLDS, &[&session.0])).await
    }

    async fn consumer_epochs(&self, consumers: &[ConsumerId]) -> Result<Vec<(ConsumerId, u64)>, StoreError> {
        let asked: Vec<Uuid> = consumers.iter().map(|consumer| consumer.0).collect();
        self.read(move |tx| {
            tx.rows(EPOCHS, &[&array(asked)], |row| Ok((ConsumerId(row.value("id")?), row.count("epoch")?)))
        })
        .await
    }

    async fn ack(&self, session: SlotSessionId, seq: u64) -> Result<u64, StoreError> {
        self.write(move |tx| {
            let place = place_of(tx, session)?.ok_or(NOT_HELD)?;
            if seq > place.head {
                return Err(BEYOND_HEAD.into());
            }
            if seq > place.cursor {
                tx.execute(ACK, &[&place.consumer, &bigint(seq)])?;
            }
            Ok(seq.max(place.cursor))
        })
        .await
    }

    async fn keep_consumers(
        &self,
        sessions: &[SlotSessionId],
        live_for: Duration,
        lease: Duration,
    ) -> Result<Kept, StoreError> {
        if sessions.is_empty() {
            return Ok(Kept::default());
        }
        let sessions = sessions.to_vec();
        self.write(move |tx| keep(tx, &sessions, live_for, lease)).await
    }

    async fn release_consumer(&self, session: SlotSessionId, lease: Duration) -> Result<(), StoreError> {
        self.write(move |tx| {
            tx.execute(RELEASE, &[&session.0, &tx.micros()])?;
            tx.execute(LEASE, &[&array([session.0]), &tx.after(lease)])?;
            Ok(())
        })
        .await
    }

    async fn settle_presence(&self, agents: &[AgentId]) -> Result<Vec<AgentPresence>, StoreError> {
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let agents = bare(agents);
        self.write(move |tx| tx.rows(SETTLE, &[&array(agents), &tx.micros()], presence)).await
    }

    async fn vanished_agents(&self, limit: u32) -> Result<Vec<AgentId>, StoreError> {
        self.read(move |tx| {
            tx.rows(VANISHED, &[&tx.micros(), &limit], |row| Ok(AgentId(row.value("agent_id")?)))
        })
        .await
    }

    async fn agent_presence(&self, agents: &[AgentId]) -> Result<Vec<AgentPresence>, StoreError> {
        let agents = bare(agents);
        self.read(move |tx| tx.rows(PRESENCE, &[&array(agents)], presence)).await
    }

    async fn presence_around(&self, user: UserId) -> Result<Vec<AgentPresence>, StoreError> {
        self.read(move |tx| tx.rows(PRESENCE_AROUND, &[&user.0], presence)).await
    }

    async fn rooms_of_agents(&self, agents: &[AgentId]) -> Result<Vec<(AgentId, RoomId)>, StoreError> {
        let agents = bare(agents);
        self.read(move |tx| {
            tx.rows(ROOMS, &[&array(agents)], |row| {
                Ok((AgentId(row.value("agent_id")?), RoomId(row.value("room_id")?)))
            })
        })
        .await
    }
}

fn bare(agents: &[AgentId]) -> Vec<Uuid> {
    agents.iter().map(|agent| agent.0).collect()
}

/// The place that a session holds.
pub(super) struct Held {
    pub(super) agent: AgentId,
    consumer: Uuid,
    cursor: u64,
    /// The newest seq of the agent's stream.
    head: u64,
}

/// The place that a session holds, if it does.
pub(super) fn place_of(tx: &Tx<'_>, session: SlotSessionId) -> Result<Option<Held>, Fault> {
    tx.row(PLACE, &[&session.0], |row| {
        Ok(Held {
            agent: AgentId(row.value("agent_id")?),
            consumer: row.value("id")?,
            cursor: row.count("cursor")?,
            head: row.count("head")?,
        })
    })
}

fn keep(tx: &Tx<'_>, sessions: &[SlotSessionId], live_for: Duration, lease: Duration) -> Result<Kept, Fault> {
    let asked = array(sessions.iter().map(|session| session.0));
    let kept: Vec<Uuid> =
        tx.rows(KEEP, &[&asked, &tx.after(live_for)], |row| row.value("holder_session_id"))?;
    tx.execute(LEASE, &[&asked, &tx.after(lease)])?;
    let emptied = tx.rows(EMPTIED, &[&asked], |row| Ok(RunId(row.value("id")?)))?;
    let lost = sessions.iter().copied().filter(|session| !kept.contains(&session.0)).collect();
    Ok(Kept { lost, emptied })
}

fn presence(row: &Row<'_>) -> Result<AgentPresence, Fault> {
    Ok(AgentPresence {
        agent: AgentId(row.value("agent_id")?),
        status: row.named("status")?,
        version: row.count("version")?,
    })
}

/// What an agent's connection begins with, but its rooms.
fn snapshot(row: &Row<'_>) -> Result<AgentSnapshot, Fault> {
    Ok(AgentSnapshot {
        log_epoch: LogEpoch(row.value("log_epoch")?),
        agent: agents::read(row)?,
        inbox: (row.count("head")?, row.count("floor")?),
        rooms: Vec::new(),
    })
}

fn summary(row: &Row<'_>) -> Result<RoomSummary, Fault> {
    Ok(RoomSummary {
        id: RoomId(row.value("room_id")?),
        kind: row.named("kind")?,
        name: row.value("name")?,
        head: row.count("head")?,
        floor: row.count("floor")?,
        last_read: row.count("last_read")?,
        muted: row.value("muted")?,
    })
}
