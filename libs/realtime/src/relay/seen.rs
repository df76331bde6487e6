//! How agents and people are seen: looked up when it may have changed, and told to those around.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{AgentId, RoomId, UserId};
use store::StoreError;
use tokio_util::sync::CancellationToken;

use super::{Relay, Trouble};

/// Agents of one query.
const AGENTS: usize = 1000;
/// People of one query: their rooms are read with them.
const PEOPLE: usize = 500;
/// Between two looks at people: what changes meanwhile goes together, and many who come at once are no storm.
const PAUSE: Duration = Duration::from_millis(100);

impl Relay {
    /// Looks up agents whose presence changed, until the token is cancelled.
    pub async fn run_agents(self: Arc<Self>, stop: CancellationToken) {
        let mut trouble = Trouble::default();
        loop {
            tokio::select! {
                () = self.hub.agents().wake.notified() => {}
                () = stop.cancelled() => return,
            }
            loop {
                let dirty = self.hub.agents().take_dirty(AGENTS);
                if dirty.is_empty() {
                    break;
                }
                if let Err(error) = self.tell_agents(&dirty).await {
                    self.hub.agents().put_back(&dirty);
                    tracing::warn!(%error, agents = dirty.len(), "can't read how agents are seen; trying again");
                    if trouble.wait(&stop).await {
                        return;
                    }
                } else {
                    trouble = Trouble::default();
                }
            }
        }
    }

    async fn tell_agents(&self, agents: &[AgentId]) -> Result<(), StoreError> {
        let told = self.hub.agents();
        let _telling = told.telling.write().await;
        let mut news = self.store.agent_presence(agents).await?;
        news.retain(|seen| told.is_news(seen.agent, seen.version));
        let changed: Vec<AgentId> = news.iter().map(|seen| seen.agent).collect();
        let rooms = by_subject(self.store.rooms_of_agents(&changed).await?);
        for seen in news {
            told.note(seen.agent, seen.version);
            if let Some(rooms) = rooms.get(&seen.agent) {
                self.hub.agent_seen(&seen, rooms);
            }
        }
        Ok(())
    }

    /// Looks up people whose presence changed, until the token is cancelled. In rooms of more than `max_room_members` nobody is told.
    pub async fn run_people(self: Arc<Self>, max_room_members: u32, stop: CancellationToken) {
        let mut trouble = Trouble::default();
        loop {
            tokio::select! {
                () = self.hub.people().wake.notified() => {}
                () = stop.cancelled() => return,
            }
            loop {
                let dirty = self.hub.people().take_dirty(PEOPLE);
                if dirty.is_empty() {
                    break;
                }
                if let Err(error) = self.tell_people(&dirty, max_room_members).await {
                    self.hub.people().put_back(&dirty);
                    tracing::warn!(%error, people = dirty.len(), "can't read how people are seen; trying again");
                    if trouble.wait(&stop).await {
                        return;
                    }
                } else {
                    trouble = Trouble::default();
                }
                if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                    return;
                }
            }
        }
    }

    async fn tell_people(&self, people: &[UserId], max_room_members: u32) -> Result<(), StoreError> {
        let told = self.hub.people();
        let _telling = told.telling.write().await;
        let mut news = self.store.people_presence(people).await?;
        news.retain(|seen| told.is_news(seen.user, seen.version));
        let changed: Vec<UserId> = news.iter().map(|seen| seen.user).collect();
        let rooms = by_subject(self.store.rooms_of_people(&changed, max_room_members).await?);
        for seen in news {
            told.note(seen.user, seen.version);
            self.hub.person_seen(&seen, rooms.get(&seen.user).map_or(&[], Vec::as_slice));
        }
        Ok(())
    }
}

fn by_subject<Id: Eq + std::hash::Hash>(pairs: Vec<(Id, RoomId)>) -> HashMap<Id, Vec<RoomId>> {
    let mut rooms: HashMap<Id, Vec<RoomId>> = HashMap::new();
    for (id, room) in pairs {
        rooms.entry(id).or_default().push(room);
    }
    rooms
}
