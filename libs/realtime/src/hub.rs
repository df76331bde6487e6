//! The hub: live connections of this node, and what each has been given of each stream.
//!
//! Terms. `seen`: the newest seq of a stream that this node has passed to its subscribers. `last`:
//! the newest seq given to one subscriber. A subscriber with `last < seen` *lags*: it gets no pushes of that
//! stream until its writer has read the log up to `seen` ([`crate::catchup`]).
//!
//! ```text
//!   publish(seq)            seq <= seen      known: nothing
//!                           seq == seen + 1  seen = seq; to each subscriber with last + 1 == seq
//!                           seq >  seen + 1  hole: the relay loads what lies between
//! ```
//!
//! Both numbers are compared and moved under the lock of the stream's shard, so whichever way an event
//! comes (from memory, from the relay, twice, late) each subscriber gets it once and in order.
//!
//! The streams of a connection are read in the order in which it came to follow them: a room that the person was added
//! to comes after the person's own stream, so nothing of it overtakes the `room.added` that tells of it.
//!
//! Membership takes effect here: `member.left` ends the subscriptions of that person before it is
//! passed on, `room.added` and `room.removed` in a person's stream begin and end theirs,
//! `session.revoked` closes the connections of that sign-in.

mod delivery;
pub(crate) mod effects;
mod leaving;
pub(crate) mod stream;
mod telling;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{
    AgentId, AuthSessionId, ConnectionId, ConsumerId, DeviceId, Event, Principal, RoomId, StreamRef, UserId,
};
use parking_lot::Mutex;
use prometheus::IntGauge;
use protocol::frame::UserTyping;
use protocol::{CloseCode, ServerFrame};
use store::runs::RunUpdate;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use crate::connection::{Connection, Hold};
use crate::encoded::{Encoded, Path};
use crate::hints::Hints;
use crate::hub::effects::Effect;
use crate::hub::stream::{Joining, Pulled, StreamState};
use crate::livebox::{Flushed, LiveBoxes};
use crate::metrics::RealtimeMetrics;
use crate::presence::Told;

/// Why the relay is asked to look at a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dirty {
    /// The log has at least this seq; 0 when nothing is known.
    pub(crate) version: u64,
    /// Found by the sweep, not by a notification.
    pub(crate) swept: bool,
}

pub(crate) struct Shard {
    streams: Mutex<HashMap<Uuid, StreamState>>,
    /// Bounded by the streams that are followed here: others are not noted.
    dirty: Mutex<HashMap<Uuid, Dirty>>,
    pub(crate) wake: Notify,
}

/// What this node has seen of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Followed {
    pub(crate) stream: StreamRef,
    pub(crate) seen: u64,
}

/// Distinct sign-ins of live connections.
#[derive(Debug, Default)]
pub(crate) struct SignIns {
    pub(crate) people: Vec<AuthSessionId>,
    /// Ids of tokens.
    pub(crate) agents: Vec<AuthSessionId>,
}

/// Slots and places that are held on this node.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) devices: Vec<DeviceId>,
    pub(crate) consumers: Vec<ConsumerId>,
}

/// When a new subscription takes pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pushes {
    /// At once.
    AtOnce,
    /// Once its connection has pulled, which it does in the order in which it came to follow streams.
    OncePulled,
}

/// The hub of one node.
pub struct Hub {
    shards: Box<[Shard]>,
    connections: Mutex<HashMap<ConnectionId, Arc<Connection>>>,
    /// Newest holder of each device's slot and each consumer's place on this node.
    holders: Mutex<HashMap<Uuid, Arc<Connection>>>,
    boxes: LiveBoxes,
    agents: Told<AgentId>,
    people: Told<UserId>,
    /// When everybody was last told to go and come back.
    sent_away_at: Mutex<Option<Instant>>,
    /// This node goes: who comes is sent on.
    drains: AtomicBool,
    hints: Hints,
    recent: usize,
    metrics: RealtimeMetrics,
}

impl Hub {
    /// An empty hub with so many shards, keeping up to `recent` events of each stream in memory.
    #[must_use]
    pub fn new(shards: usize, recent: usize, metrics: RealtimeMetrics) -> Arc<Self> {
        let shard = || Shard { streams: Mutex::default(), dirty: Mutex::default(), wake: Notify::new() };
        Arc::new(Self {
            shards: (0..shards.max(1)).map(|_| shard()).collect(),
            connections: Mutex::default(),
            holders: Mutex::default(),
            boxes: LiveBoxes::default(),
            agents: Told::default(),
            people: Told::default(),
            sent_away_at: Mutex::default(),
            drains: AtomicBool::new(false),
            hints: Hints::default(),
            recent,
            metrics,
        })
    }

    /// The documents of runs that are followed here.
    #[must_use]
    pub const fn boxes(&self) -> &LiveBoxes {
        &self.boxes
    }

    /// How the agents around are seen.
    #[must_use]
    pub const fn agents(&self) -> &Told<AgentId> {
        &self.agents
    }

    /// How the people around are seen.
    #[must_use]
    pub const fn people(&self) -> &Told<UserId> {
        &self.people
    }

    /// Notifications to be hinted at.
    #[must_use]
    pub const fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Whether people are connected here.
    #[must_use]
    pub fn has_people(&self) -> bool {
        self.connections.lock().values().any(|connection| connection.meta.user().is_some())
    }

    /// A run that was loaded, for those who follow its room here. When nobody does, the run is followed no more.
    pub(crate) fn run_loaded(&self, update: &RunUpdate) {
        let streams = self.shard(update.room.0).streams.lock();
        match streams.get(&update.room.0) {
            Some(state) => self.boxes.loaded(update, state.connections()),
            None => self.boxes.forget(update.run),
        }
    }

    /// A flush of this node, for those who follow the run here.
    pub fn run_flushed(&self, flushed: &Flushed<'_>) {
        let Some(room) = self.boxes.room_of(flushed.run) else { return };
        let streams = self.shard(room.0).streams.lock();
        let follows_on = match streams.get(&room.0) {
            Some(state) => self.boxes.flushed(flushed, state.connections()),
            None => true,
        };
        drop(streams);
        if !follows_on {
            self.boxes.touch(flushed.run);
        }
    }

    /// Counts the connections that are behind.
    pub(crate) fn behind(&self) -> IntGauge {
        self.metrics.behind.clone()
    }

    /// Takes a connection in. An older holder of the same slot or place is closed (4017, 4015); when the new
    /// one itself is the older, it is the one that closes.
    pub fn register(&self, connection: &Arc<Connection>) {
        self.connections.lock().insert(connection.meta.id, Arc::clone(connection));
        if self.drains.load(Ordering::SeqCst) {
            // Too late to be seen by the drain, which has begun.
            connection.outbox.close(CloseCode::NodeDrains);
        }
        let Some((place, epoch)) = connection.hold.place() else { return };
        let mut holders = self.holders.lock();
        match holders.get(&place) {
            Some(holder) if holder.hold.place().is_some_and(|(_, held)| held > epoch) => {
                connection.outbox.close(connection.hold.lost());
            }
            _ => {
                if let Some(older) = holders.insert(place, Arc::clone(connection)) {
                    older.outbox.close(older.hold.lost());
                }
            }
        }
    }

    /// Lets a connection go, with all it follows.
    pub fn unregister(&self, connection: &Connection) {
        self.connections.lock().remove(&connection.meta.id);
        if let Some((place, _)) = connection.hold.place() {
            let mut holders = self.holders.lock();
            if holders.get(&place).is_some_and(|held| held.meta.id == connection.meta.id) {
                holders.remove(&place);
            }
        }
        let streams = connection.streams.lock().take();
        for stream in streams.unwrap_or_default() {
            self.drop_subscriber(stream, connection.meta.id);
        }
    }

    /// Follows a stream from `last` on. `head` is the stream's head as the caller read it; when this
    /// node begins to follow the stream with it, the relay looks for what came since. Answers what this
    /// node has seen of the stream.
    pub fn subscribe(&self, connection: &Arc<Connection>, stream: StreamRef, last: u64, head: u64) -> u64 {
        self.follow(connection, stream, (last, head), Pushes::AtOnce)
    }

    fn follow(
        &self,
        connection: &Arc<Connection>,
        stream: StreamRef,
        (last, head): (u64, u64),
        pushes: Pushes,
    ) -> u64 {
        let shard = self.shard(stream.id);
        let mut streams = shard.streams.lock();
        // Noted under the lock: an unsubscribe that comes between would leave one of the two behind.
        if !connection.follow(stream) {
            return streams.get(&stream.id).map_or(head, StreamState::seen);
        }
        let mut fresh = false;
        let state = streams.entry(stream.id).or_insert_with(|| {
            fresh = true;
            StreamState::new(stream, head)
        });
        state.subscribe(connection, last, head);
        let seen = state.seen();
        if pushes == Pushes::OncePulled {
            state.hold(connection.meta.id);
        }
        if last < seen || pushes == Pushes::OncePulled {
            connection.outbox.lag();
        }
        drop(streams);
        if fresh {
            // What was written between the caller's read and this moment was announced to nobody here.
            self.mark(shard, stream.id, Dirty { version: 0, swept: false });
        }
        seen
    }

    /// No longer follows a stream.
    pub fn unsubscribe(&self, connection: &Connection, stream: StreamRef) {
        let shard = self.shard(stream.id);
        let mut streams = shard.streams.lock();
        connection.unfollow(stream);
        if let Some(state) = streams.get_mut(&stream.id)
            && state.unsubscribe(connection.meta.id)
        {
            streams.remove(&stream.id);
        }
    }

    fn drop_subscriber(&self, stream: StreamRef, connection: ConnectionId) {
        let mut streams = self.shard(stream.id).streams.lock();
        if let Some(state) = streams.get_mut(&stream.id)
            && state.unsubscribe(connection)
        {
            streams.remove(&stream.id);
        }
    }

    /// Passes an event to those who follow its stream here, if it is the next one; asks the relay for
    /// the ones between if it is not.
    pub fn publish(&self, event: Event, path: Path) {
        let stream = event.stream;
        let shard = self.shard(stream.id);
        let (effect, joining) = {
            let mut streams = shard.streams.lock();
            let Some(state) = streams.get_mut(&stream.id) else { return };
            if event.seq <= state.seen() {
                return;
            }
            if event.seq > state.seen() + 1 {
                let version = event.seq;
                drop(streams);
                self.mark(shard, stream.id, Dirty { version, swept: false });
                return;
            }
            let _delivering = delivery::span(&event, path, state.followers()).entered();
            let (seq, effect) = (event.seq, Effect::of(&event));
            if let Some(Effect::Leave { user }) = &effect {
                state.remove_user(*user, seq);
            }
            state.deliver(&Encoded::event(event, path), self.recent, &self.metrics);
            let joins = matches!(effect, Some(Effect::Join { .. }));
            (effect, if joins { state.joining(seq) } else { Vec::new() })
        };
        // Not under the lock: the room may live in the same shard. Two effects that overtake each other
        // do no harm, each is compared with the position that the subscription began at.
        if let Some(effect) = effect {
            self.apply(effect, joining);
        }
    }

    /// Tells those who follow a room here that somebody types, but not that person.
    pub fn typing(&self, room: RoomId, user: UserId) {
        let streams = self.shard(room.0).streams.lock();
        if let Some(state) = streams.get(&room.0) {
            let frame = ServerFrame::Typing(UserTyping { room_id: room.0, user_id: user.0 });
            state.whisper(&Encoded::frame(frame), Some(user));
        }
    }

    /// Whether a person follows a room with a connection of this node, which only members can.
    #[must_use]
    pub fn user_follows(&self, user: UserId, room: RoomId) -> bool {
        let streams = self.shard(room.0).streams.lock();
        streams.get(&room.0).is_some_and(|state| state.has_member(room, user))
    }

    /// Notes that the log has `version` of a stream; the relay loads what this node lacks. Nothing
    /// happens for streams that nobody follows here.
    pub fn mark_dirty(&self, stream: Uuid, version: u64) {
        self.mark_if_newer(stream, version, false);
    }

    /// The same, found by the sweep.
    pub(crate) fn mark_swept(&self, stream: Uuid, version: u64) {
        self.mark_if_newer(stream, version, true);
    }

    fn mark_if_newer(&self, stream: Uuid, version: u64, swept: bool) {
        let shard = self.shard(stream);
        let newer = shard.streams.lock().get(&stream).is_some_and(|state| version > state.seen());
        if newer {
            self.mark(shard, stream, Dirty { version, swept });
        }
    }

    fn mark(&self, shard: &Shard, stream: Uuid, dirty: Dirty) {
        shard
            .dirty
            .lock()
            .entry(stream)
            .and_modify(|known| known.version = known.version.max(dirty.version))
            .or_insert(dirty);
        shard.wake.notify_one();
    }

    /// A newer holder took a device's slot or a consumer's place: closes the connection here that holds a lower epoch.
    pub fn fence(&self, place: Uuid, epoch: u64) {
        let holders = self.holders.lock();
        if let Some(holder) = holders.get(&place)
            && holder.hold.place().is_some_and(|(_, held)| held < epoch)
        {
            holder.outbox.close(holder.hold.lost());
        }
    }

    /// Closes the connections of a sign-in, of a person or of an agent, that was ended.
    pub fn revoke(&self, user_or_session: Uuid) {
        for connection in self.connections.lock().values() {
            let meta = &connection.meta;
            if meta.session.0 == user_or_session || meta.principal.id() == user_or_session {
                connection.outbox.close(CloseCode::SignInEnded);
            }
        }
    }

    /// The live connections.
    #[must_use]
    pub fn connections(&self) -> Vec<Arc<Connection>> {
        self.connections.lock().values().map(Arc::clone).collect()
    }

    /// The connections of a person.
    pub(crate) fn connections_of(&self, user: UserId) -> Vec<Arc<Connection>> {
        let streams = self.shard(user.0).streams.lock();
        streams.get(&user.0).map(|own| own.connections().map(Arc::clone).collect()).unwrap_or_default()
    }

    /// Distinct sign-ins of live connections.
    pub(crate) fn sign_ins(&self) -> SignIns {
        let mut sign_ins = SignIns::default();
        for connection in self.connections.lock().values() {
            match connection.meta.principal {
                Principal::User(_) => sign_ins.people.push(connection.meta.session),
                Principal::Agent(_) => sign_ins.agents.push(connection.meta.session),
            }
        }
        for sessions in [&mut sign_ins.people, &mut sign_ins.agents] {
            sessions.sort_unstable();
            sessions.dedup();
        }
        sign_ins
    }

    /// What is held here.
    pub(crate) fn held(&self) -> Held {
        let mut held = Held::default();
        for connection in self.holders.lock().values() {
            match connection.hold {
                Hold::Device(slot) => held.devices.push(slot.device),
                Hold::Consumer(slot) => held.consumers.push(slot.consumer),
                Hold::Nothing => {}
            }
        }
        held
    }

    /// The connections of consumers that hold their place, as far as this node knows.
    #[must_use]
    pub fn consumers(&self) -> Vec<Arc<Connection>> {
        let holders = self.holders.lock();
        holders.values().filter(|connection| connection.hold.consumer().is_some()).map(Arc::clone).collect()
    }

    /// A consumer's connection of an agent on this node, if it has one.
    #[must_use]
    pub fn consumer_of(&self, agent: AgentId) -> Option<Arc<Connection>> {
        let holders = self.holders.lock();
        let of_agent = |connection: &&Arc<Connection>| {
            connection.hold.consumer().is_some_and(|slot| slot.agent == agent)
                && connection.outbox.closing().is_none()
        };
        holders.values().find(of_agent).map(Arc::clone)
    }

    /// Every stream that is followed here.
    pub(crate) fn followed(&self) -> Vec<Followed> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.streams.lock().values().map(StreamState::followed));
        }
        all
    }

    /// How many relay shards there are.
    #[must_use]
    pub const fn shard_count(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn shard_at(&self, index: usize) -> &Shard {
        &self.shards[index]
    }

    /// Takes what is dirty in a shard, at most `max`, with what has been seen of each; streams that nobody follows
    /// any more, or that are level by now, are left out.
    pub(crate) fn take_dirty(&self, index: usize, max: usize) -> Vec<(Followed, Dirty)> {
        let shard = &self.shards[index];
        let taken: Vec<(Uuid, Dirty)> = {
            let mut dirty = shard.dirty.lock();
            if dirty.len() <= max {
                std::mem::take(&mut *dirty).into_iter().collect()
            } else {
                let keys: Vec<Uuid> = dirty.keys().take(max).copied().collect();
                keys.into_iter().filter_map(|key| dirty.remove_entry(&key)).collect()
            }
        };
        let streams = shard.streams.lock();
        taken
            .into_iter()
            .filter_map(|(id, dirty)| {
                let followed = streams.get(&id)?.followed();
                (dirty.version == 0 || dirty.version > followed.seen).then_some((followed, dirty))
            })
            .collect()
    }

    /// Puts back what could not be loaded.
    pub(crate) fn put_back(&self, index: usize, dirty: impl Iterator<Item = (Uuid, Dirty)>) {
        let shard = &self.shards[index];
        for (stream, entry) in dirty {
            self.mark(shard, stream, entry);
        }
    }

    /// The log no longer has the events after `seen`, up to `to`: subscribers find out by reading (a gap).
    pub(crate) fn skip_to(&self, stream: Uuid, to: u64) {
        if let Some(state) = self.shard(stream).streams.lock().get_mut(&stream) {
            state.skip_to(to);
        }
    }

    /// What a connection lacks of a stream: from memory, or where to read on.
    pub(crate) fn pull(&self, connection: &Connection, stream: StreamRef) -> Pulled {
        let mut streams = self.shard(stream.id).streams.lock();
        match streams.get_mut(&stream.id) {
            Some(state) => state.pull(connection.meta.id),
            None => Pulled::Level,
        }
    }

    /// A connection is about to be given what lies after `after` of a stream, up to `to`. False when its subscription
    /// stands elsewhere by now, or is no more: then nothing may be given.
    pub(crate) fn advance(&self, connection: &Connection, stream: StreamRef, after: u64, to: u64) -> bool {
        let mut streams = self.shard(stream.id).streams.lock();
        streams.get_mut(&stream.id).is_some_and(|state| state.advance(connection.meta.id, after, to))
    }

    fn shard(&self, stream: Uuid) -> &Shard {
        // The last bytes of a UUIDv7 are random.
        let [.., a, b] = *stream.as_bytes();
        &self.shards[usize::from(u16::from_be_bytes([a, b])) % self.shards.len()]
    }

    fn apply(&self, effect: Effect, joining: Vec<Joining>) {
        match effect {
            Effect::Join { room, head } => {
                for Joining { connection, is_told } in joining {
                    let pushes = if is_told { Pushes::AtOnce } else { Pushes::OncePulled };
                    self.follow(&connection, room.into(), (head, head), pushes);
                    connection.look_around();
                }
            }
            Effect::Part { user, room, seq } => {
                if let Some(state) = self.shard(room.0).streams.lock().get_mut(&room.0) {
                    state.remove_user(user, seq);
                }
            }
            // Done under the lock of the room's stream.
            Effect::Leave { .. } => {}
            Effect::End { session } => self.revoke(session.0),
            Effect::Work { run, room } => self.boxes.track(run, room),
            Effect::Call { user, call } => {
                if let Some(state) = self.shard(user.0).streams.lock().get(&user.0) {
                    state.whisper(&Encoded::frame(ServerFrame::ToolCall(*call)), None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
