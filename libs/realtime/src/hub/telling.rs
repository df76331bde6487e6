//! Telling those around how somebody is seen.

use std::collections::HashSet;
use std::sync::Arc;

use domain::RoomId;
use store::consumers::AgentPresence;
use store::presence::PersonPresence;
use uuid::Uuid;

use super::Hub;
use crate::connection::Connection;
use crate::encoded::Encoded;
use crate::presence;

impl Hub {
    /// How an agent is seen now, for those who follow one of its rooms here.
    pub(crate) fn agent_seen(&self, presence: &AgentPresence, rooms: &[RoomId]) {
        let streams = rooms.iter().map(|room| room.0);
        self.tell(&presence::agent_frame(presence), streams, Connection::look_around);
    }

    /// How a person is seen now, for those who follow one of these rooms here, and for the person.
    pub(crate) fn person_seen(&self, presence: &PersonPresence, rooms: &[RoomId]) {
        let streams = rooms.iter().map(|room| room.0).chain([presence.user.0]);
        let missed = |connection: &Connection| connection.missed_person(presence.user);
        self.tell(&presence::person_frame(presence), streams, missed);
    }

    /// Tells each connection that follows one of these streams, once. `missed` is for those whose queue is full.
    fn tell(&self, frame: &Arc<Encoded>, streams: impl Iterator<Item = Uuid>, missed: impl Fn(&Connection)) {
        let mut told = HashSet::new();
        for id in streams {
            let streams = self.shard(id).streams.lock();
            for connection in streams.get(&id).iter().flat_map(|state| state.connections()) {
                if told.insert(connection.meta.id) && !connection.outbox.push_ephemeral(frame) {
                    missed(connection);
                }
            }
        }
    }
}
