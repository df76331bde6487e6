//! Consumers of agents: acknowledging, being connected, how the agent is seen.

use std::collections::HashMap;

use domain::{AgentId, SlotSessionId};
use realtime::Hold;
use tokio_util::sync::CancellationToken;

use crate::Operations;
use crate::error::Error;

impl Operations {
    /// Acknowledges the agent's stream up to `seq`; answers where the cursor stands.
    ///
    /// # Errors
    ///
    /// `Invalid` beyond the head; `Conflict` when another session holds the place.
    pub async fn ack(&self, session: SlotSessionId, seq: u64) -> Result<u64, Error> {
        Ok(self.store.ack(session, seq).await?)
    }

    /// A consumer's connection has begun here.
    pub async fn consumer_came(&self, agent: AgentId) {
        self.settle_presence(&[agent]).await;
    }

    /// A consumer's connection has ended here: what it wrote is flushed, and it counts as connected no more.
    pub async fn consumer_left(&self, agent: AgentId, session: SlotSessionId) {
        self.live.release(session);
        if let Err(error) = self.store.release_consumer(session, self.runs.lease).await {
            // It runs out by itself.
            tracing::warn!(%error, %agent, "can't note that a consumer is gone");
        }
        self.settle_presence(&[agent]).await;
    }

    /// Computes how agents are seen, and tells what has changed. What can't be computed now is by the next change, or by a
    /// worker.
    pub(crate) async fn settle_presence(&self, agents: &[AgentId]) {
        if agents.is_empty() {
            return;
        }
        match self.store.settle_presence(agents).await {
            Ok(changed) => changed.into_iter().for_each(|seen| self.announcer.agent_seen(&seen)),
            Err(error) => tracing::warn!(%error, "can't compute how agents are seen"),
        }
    }

    /// Says every `runs.heartbeat` that the consumers of this node are connected, until the token is cancelled.
    pub async fn keep_consumers(self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(self.runs.heartbeat)).await.is_some() {
            if let Err(error) = self.heartbeat().await {
                tracing::warn!(%error, "can't say that consumers are connected");
            }
        }
    }

    async fn heartbeat(&self) -> Result<(), Error> {
        let mut held = HashMap::new();
        for connection in self.announcer.hub().consumers() {
            if let Hold::Consumer(slot) = connection.hold {
                held.insert(slot.session, connection);
            }
        }
        if held.is_empty() {
            return Ok(());
        }
        let sessions: Vec<SlotSessionId> = held.keys().copied().collect();
        let kept = self.store.keep_consumers(&sessions, self.runs.consumer_live(), self.runs.lease).await?;
        for lost in kept.lost {
            if let Some(connection) = held.get(&lost) {
                connection.outbox.close(connection.hold.lost());
            }
        }
        for run in kept.emptied {
            self.live.rewrite(run);
        }
        // One that counted as gone while this node could not reach the database is seen again.
        let agents: Vec<AgentId> = held
            .values()
            .filter_map(|connection| connection.hold.consumer().map(|slot| slot.agent))
            .collect();
        self.settle_presence(&agents).await;
        Ok(())
    }
}
