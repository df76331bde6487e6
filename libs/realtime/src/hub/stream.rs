//! One stream on this node: what was seen of it, and what each subscriber has been given.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::{ConnectionId, EventKind, RoomId, StreamRef, UserId};
use indexmap::IndexMap;

use crate::connection::Connection;
use crate::encoded::Encoded;
use crate::hub::Followed;
use crate::metrics::RealtimeMetrics;

struct Subscriber {
    connection: Arc<Connection>,
    /// Newest seq given to it.
    last: u64,
    /// Head of the stream in the snapshot that the connection began with: what lies below has taken
    /// effect in that snapshot.
    since: u64,
    /// Nothing is pushed before it was pulled for the first time: the person's own stream, which tells of this one,
    /// lags and is read first.
    held: bool,
}

/// A connection that is to follow one more room.
pub(crate) struct Joining {
    pub(crate) connection: Arc<Connection>,
    /// Whether the event that says so lies in its outbox. Otherwise it is still to be read.
    pub(crate) is_told: bool,
}

/// What a lagging subscriber is to do.
#[derive(Debug)]
pub(crate) enum Pulled {
    /// It has all that this node has seen.
    Level,
    /// These were kept in memory, and count as given now.
    Recent(Vec<Arc<Encoded>>),
    /// Read the log after this seq.
    Read { after: u64 },
}

pub(crate) struct StreamState {
    stream: StreamRef,
    seen: u64,
    /// The newest events without a hole, up to `seen`.
    recent: VecDeque<Arc<Encoded>>,
    subscribers: IndexMap<ConnectionId, Subscriber>,
}

impl StreamState {
    pub(crate) fn new(stream: StreamRef, seen: u64) -> Self {
        Self { stream, seen, recent: VecDeque::new(), subscribers: IndexMap::new() }
    }

    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) const fn followed(&self) -> Followed {
        Followed { stream: self.stream, seen: self.seen }
    }

    pub(crate) fn subscribe(&mut self, connection: &Arc<Connection>, last: u64, since: u64) {
        let connection = Arc::clone(connection);
        self.subscribers.insert(connection.meta.id, Subscriber { connection, last, since, held: false });
    }

    /// Pushes nothing to a subscriber until it has pulled.
    pub(crate) fn hold(&mut self, connection: ConnectionId) {
        if let Some(subscriber) = self.subscribers.get_mut(&connection) {
            subscriber.held = true;
        }
    }

    /// True when nobody is left.
    pub(crate) fn unsubscribe(&mut self, connection: ConnectionId) -> bool {
        self.subscribers.swap_remove(&connection);
        self.subscribers.is_empty()
    }

    /// Ends the subscriptions of a person who left with event `seq`. One that began after it, or was given
    /// what lies beyond it, stays: the person was added again.
    pub(crate) fn remove_user(&mut self, user: UserId, seq: u64) {
        let stream = self.stream;
        self.subscribers.retain(|_, subscriber| {
            let stays = subscriber.connection.meta.user() != Some(user)
                || subscriber.since >= seq
                // Pages are given to members only.
                || subscriber.last >= seq;
            if !stays {
                subscriber.connection.unfollow(stream);
            }
            stays
        });
    }

    /// Whether this is the stream of that room, and the person follows it. An id alone may be a person's.
    pub(crate) fn has_member(&self, room: RoomId, user: UserId) -> bool {
        self.stream == room.into()
            && self.subscribers.values().any(|subscriber| subscriber.connection.meta.user() == Some(user))
    }

    /// Connections whose snapshot is older than the event `seq`, which was passed on just now.
    pub(crate) fn joining(&self, seq: u64) -> Vec<Joining> {
        self.subscribers
            .values()
            .filter(|subscriber| subscriber.since < seq)
            .map(|subscriber| Joining {
                connection: Arc::clone(&subscriber.connection),
                is_told: subscriber.last >= seq,
            })
            .collect()
    }

    /// Passes on the next event. The caller has checked that it is `seen + 1`.
    pub(crate) fn deliver(&mut self, encoded: &Arc<Encoded>, keep: usize, metrics: &RealtimeMetrics) {
        self.seen += 1;
        for subscriber in self.subscribers.values_mut() {
            if subscriber.last + 1 == self.seen && !subscriber.held {
                if subscriber.connection.outbox.push_event(encoded) {
                    subscriber.last = self.seen;
                } else {
                    metrics.held_back.inc();
                }
            } else if subscriber.last < self.seen {
                subscriber.connection.outbox.lag();
            }
        }
        while self.recent.len() >= keep.max(1) {
            self.recent.pop_front();
        }
        if keep > 0 {
            self.recent.push_back(Arc::clone(encoded));
        }
    }

    /// How many follow it.
    pub(crate) fn followers(&self) -> usize {
        self.subscribers.len()
    }

    /// The connections that follow it.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.subscribers.values().map(|subscriber| &subscriber.connection)
    }

    pub(crate) fn whisper(&self, frame: &Arc<Encoded>, except: Option<UserId>) {
        for connection in self.connections() {
            if except.is_none() || connection.meta.user() != except {
                connection.outbox.push_ephemeral(frame);
            }
        }
    }

    pub(crate) fn skip_to(&mut self, to: u64) {
        if to > self.seen {
            self.seen = to;
            self.recent.clear();
            for subscriber in self.subscribers.values() {
                subscriber.connection.outbox.lag();
            }
        }
    }

    pub(crate) fn pull(&mut self, connection: ConnectionId) -> Pulled {
        let Some(subscriber) = self.subscribers.get_mut(&connection) else { return Pulled::Level };
        subscriber.held = false;
        if subscriber.last >= self.seen {
            return Pulled::Level;
        }
        let oldest = self.recent.front().and_then(|encoded| encoded.as_event()).map(|event| event.seq);
        let lacks =
            |encoded: &&Arc<Encoded>| encoded.as_event().is_some_and(|event| event.seq > subscriber.last);
        // Where somebody left, only the log can say whether it was this person.
        let left =
            |encoded: &Arc<Encoded>| encoded.as_event().is_some_and(|e| e.kind == EventKind::MemberLeft);
        match oldest {
            Some(oldest) if oldest <= subscriber.last + 1 && !self.recent.iter().filter(lacks).any(left) => {
                let recent = self.recent.iter().filter(lacks).map(Arc::clone).collect();
                subscriber.last = self.seen;
                Pulled::Recent(recent)
            }
            _ => Pulled::Read { after: subscriber.last },
        }
    }

    /// Counts what lies after `after`, up to `to`, as given. Not when the subscription stands elsewhere: the person
    /// left and was added again while the page was read, and what was read for the former is not for the latter.
    pub(crate) fn advance(&mut self, connection: ConnectionId, after: u64, to: u64) -> bool {
        match self.subscribers.get_mut(&connection) {
            Some(subscriber) if subscriber.last == after => {
                subscriber.last = to;
                true
            }
            _ => false,
        }
    }
}
