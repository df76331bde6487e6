//! Consumers in PostgreSQL.
//!
//! A place is taken under the lock of the agent's stream, and under that of its own row, which heartbeats take too. What
//! becomes of the runs of the former holder is in the same transaction: see `take`. How agents are seen is in `presence`.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, ConsumerId, RoomId, RunId, SlotSessionId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::consumers::{
    AgentPresence, AgentSnapshot, BEYOND_HEAD, Claim, ConsumerOutcome, Consumers, Kept, NOT_HELD,
    TakeConsumer,
};
use crate::error::StoreError;
use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::runs::{LEASE, LOCK_HELD};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};

mod presence;
mod snapshot;
mod take;

statements! {
    AGENT = "consumers/agent";
    STAND = "consumers/stand";
    HELD = "consumers/held";
    TAKE = "consumers/take";
    STAY = "consumers/stay";
    UNTOLD = "consumers/untold";
    HOLDS = "consumers/holds";
    EPOCHS = "consumers/epochs";
    ACK = "consumers/ack";
    KEEP = "consumers/keep";
    RELEASE = "consumers/release";
    SNAPSHOT = "consumers/snapshot";
    LOCK_AGENTS = "consumers/lock_agents";
    SETTLE = "consumers/settle";
    VANISHED = "consumers/vanished";
    PRESENCE = "consumers/presence";
    PRESENCE_AROUND = "consumers/presence_around";
    ROOMS = "consumers/rooms";
}

#[async_trait]
impl Consumers for Postgres {
    async fn take_consumer(&self, attempt: &TakeConsumer) -> Result<ConsumerOutcome, StoreError> {
        match &attempt.claim {
            Claim::Identify { name } => repeated!(self.try_identify(attempt, name)),
            Claim::Resume { session } => repeated!(self.try_resume(attempt, *session)),
        }
    }

    async fn agent_snapshot(&self, agent: AgentId) -> Result<Option<AgentSnapshot>, StoreError> {
        let rows = self.rows(SNAPSHOT, &[&agent.0]).await?;
        Ok(snapshot::read(&rows)?)
    }

    async fn holds_consumer(&self, session: SlotSessionId) -> Result<bool, StoreError> {
        Ok(self.row(HOLDS, &[&session.0]).await?.is_some())
    }

    async fn consumer_epochs(&self, consumers: &[ConsumerId]) -> Result<Vec<(ConsumerId, u64)>, StoreError> {
        if consumers.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Uuid> = consumers.iter().map(|consumer| consumer.0).collect();
        let rows = self.rows(EPOCHS, &[&asked]).await?;
        let epoch = |row: &Row| Ok((ConsumerId(row.value("id")?), row.count("epoch")?));
        Ok(rows.iter().map(epoch).collect::<Result<_, Fault>>()?)
    }

    async fn ack(&self, session: SlotSessionId, seq: u64) -> Result<u64, StoreError> {
        let row = self.row(ACK, &[&session.0, &bigint(seq)]).await?.ok_or(NOT_HELD)?;
        if seq > row.count("head")? {
            return Err(BEYOND_HEAD.into());
        }
        Ok(row.count("cursor")?)
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
        repeated!(self.try_keep(sessions, live_for, lease))
    }

    async fn release_consumer(&self, session: SlotSessionId, lease: Duration) -> Result<(), StoreError> {
        let held = vec![session.0];
        repeated!(async {
            let lease = micros(lease);
            self.session()
                .await?
                .transact([(RELEASE, &[&session.0]), (LOCK_HELD, &[&held]), (LEASE, &[&held, &lease])])
                .await
                .map(drop)
        })
    }

    async fn settle_presence(&self, agents: &[AgentId]) -> Result<Vec<AgentPresence>, StoreError> {
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let agents = presence::bare(agents);
        repeated!(async {
            let session = self.session().await?;
            let [_, changes] = session.transact([(LOCK_AGENTS, &[&agents]), (SETTLE, &[&agents])]).await?;
            presence::read_all(&changes)
        })
    }

    async fn vanished_agents(&self, limit: u32) -> Result<Vec<AgentId>, StoreError> {
        let rows = self.rows(VANISHED, &[&i64::from(limit)]).await?;
        Ok(rows.iter().map(|row| row.value("agent_id").map(AgentId)).collect::<Result<_, Fault>>()?)
    }

    async fn agent_presence(&self, agents: &[AgentId]) -> Result<Vec<AgentPresence>, StoreError> {
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        Ok(presence::read_all(&self.rows(PRESENCE, &[&presence::bare(agents)]).await?)?)
    }

    async fn presence_around(&self, user: UserId) -> Result<Vec<AgentPresence>, StoreError> {
        Ok(presence::read_all(&self.rows(PRESENCE_AROUND, &[&user.0]).await?)?)
    }

    async fn rooms_of_agents(&self, agents: &[AgentId]) -> Result<Vec<(AgentId, RoomId)>, StoreError> {
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(ROOMS, &[&presence::bare(agents)]).await?;
        let room = |row: &Row| Ok((AgentId(row.value("agent_id")?), RoomId(row.value("room_id")?)));
        Ok(rows.iter().map(room).collect::<Result<_, Fault>>()?)
    }
}

impl Postgres {
    /// The runs are locked before they are leased, so that the look for their patches sees what was flushed meanwhile.
    async fn try_keep(
        &self,
        sessions: &[SlotSessionId],
        live_for: Duration,
        lease: Duration,
    ) -> Result<Kept, Fault> {
        let asked: Vec<Uuid> = sessions.iter().map(|session| session.0).collect();
        let session = self.session().await?;
        let [kept, _, leased] = session
            .transact([
                (KEEP, &[&asked, &micros(live_for)]),
                (LOCK_HELD, &[&asked]),
                (LEASE, &[&asked, &micros(lease)]),
            ])
            .await?;
        let kept: Vec<Uuid> =
            kept.iter().map(|row| row.value("holder_session_id")).collect::<Result<_, Fault>>()?;
        let mut emptied = Vec::new();
        for row in &leased {
            if row.value("emptied")? {
                emptied.push(RunId(row.value("id")?));
            }
        }
        let lost = sessions.iter().copied().filter(|session| !kept.contains(&session.0)).collect();
        Ok(Kept { lost, emptied })
    }
}
