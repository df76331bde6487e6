//! Presence: live connections of people on all nodes, and how each person is seen.
//!
//! ```text
//!   a node     watches, refreshes the rows it has, writes those that are new, changed or missing, clears those that are gone
//!   a worker   reaps rows that nobody refreshes, and checks what is noted against the rows
//!   a reader   asks who of some people is where
//! ```
//!
//! *Live* is a row that was written or refreshed within `ttl`, by the database's clock, or one whose connection can still be resumed after
//! its node went. Of the rows of one device only that of the highest epoch counts.
//!
//! *Settled* is the table when somebody watched it for at least `ttl` without a gap, and the database did not start within that time. Rows may be
//! missing before: who is there is there, but who is not may be nonetheless. So nobody is noted as less than they were until then.
//!
//! How a person is seen is judged in the transaction that changes rows, after the people concerned were locked: of two nodes that write for
//! one person the second sees what the first wrote.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use domain::{ConnectionId, DeviceId, DeviceKind, LivePresence, NodeId, PersonStatus, RoomId, UserId};

use crate::error::StoreError;

/// A live connection of a person, as its node writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenceRow {
    /// Which connection.
    pub connection: ConnectionId,
    /// Whose.
    pub user: UserId,
    /// On which device, with the epoch of its slot; none for a stream that named none.
    pub device: Option<(DeviceId, u64)>,
    /// What that device is.
    pub kind: DeviceKind,
    /// Nobody has touched the device for a while.
    pub idle: bool,
    /// The room on its screen.
    pub focus: Option<RoomId>,
    /// How long ago it began.
    pub age: Duration,
    /// It is gone because its node is going: so long it counts as it was, unless the device comes back before.
    pub resumable_for: Option<Duration>,
}

/// What a node writes at once. It takes one lock for each person in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresenceBatch {
    /// Which node.
    pub node: NodeId,
    /// Rows that are new, changed or missing.
    pub rows: Vec<PresenceRow>,
    /// Connections that are gone, with whose they were.
    pub gone: Vec<(ConnectionId, UserId)>,
}

/// How a person is seen, with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonPresence {
    /// Who.
    pub user: UserId,
    /// How.
    pub status: PersonStatus,
    /// Grows with each change.
    pub version: u64,
}

/// Who of the people asked for is where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Their live connections. Who has none is left out.
    pub people: HashMap<UserId, Vec<LivePresence>>,
    /// How long until it can be believed that who is left out is not there; none when it can be now.
    pub settles_in: Option<Duration>,
}

/// What a look for rows that nobody refreshes came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReapedPresence {
    /// Rows that went.
    pub rows: u64,
    /// People who are seen differently now.
    pub changes: Vec<PersonPresence>,
    /// Whether there may be more.
    pub more: bool,
}

/// What a check of people came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedPeople {
    /// People who are seen differently now.
    pub changes: Vec<PersonPresence>,
    /// How many were looked at.
    pub people: u64,
    /// Where the next check goes on; none at the end, or when nothing can be said now.
    pub next: Option<UserId>,
}

/// What somebody who notes how people are seen knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Every connection.
    Whole,
    /// Connections may be missing: nobody is noted as less than they were.
    Partial,
}

/// Presence of connections and of people.
#[async_trait]
pub trait Presence {
    /// Says that somebody looks after the rows. Between two of these calls no more than half of `ttl` may pass, whoever makes them, or
    /// the table is no longer settled.
    async fn watch_presence(&self, ttl: Duration) -> Result<(), StoreError>;

    /// Refreshes rows; answers those that were there.
    async fn refresh_presence(&self, connections: &[ConnectionId]) -> Result<Vec<ConnectionId>, StoreError>;

    /// Writes and clears rows, with what they leave of other rows of the same devices, and notes how their people are seen now; answers
    /// the changes. A row of a device whose slot a newer connection took is not written. May be repeated; the changes are answered once.
    async fn write_presence(
        &self,
        batch: &PresenceBatch,
        ttl: Duration,
    ) -> Result<Vec<PersonPresence>, StoreError>;

    /// The live connections of these people.
    async fn live_people(&self, people: &[UserId], ttl: Duration) -> Result<Seen, StoreError>;

    /// Removes rows of at most `limit` people that are live no more, and notes how these people are seen now. People whom somebody else is at
    /// are left out.
    async fn reap_presence(&self, ttl: Duration, limit: u32) -> Result<ReapedPresence, StoreError>;

    /// Compares how people are noted with their rows, of the `limit` people after `after`, and notes how they are seen. Does nothing while the
    /// table is not settled.
    async fn check_people(
        &self,
        after: Option<UserId>,
        limit: u32,
        ttl: Duration,
    ) -> Result<CheckedPeople, StoreError>;

    /// Notes how people are seen by who knows it without rows; answers the changes. Who never was there is not noted as offline.
    async fn note_people(
        &self,
        people: &[(UserId, PersonStatus)],
        evidence: Evidence,
    ) -> Result<Vec<PersonPresence>, StoreError>;

    /// People who are noted as online or idle, by id after `after`.
    async fn people_noted(
        &self,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<PersonPresence>, StoreError>;

    /// How these people are noted; who was never there is left out.
    async fn people_presence(&self, people: &[UserId]) -> Result<Vec<PersonPresence>, StoreError>;

    /// How those are noted who are not offline and share a room of at most `max_members` with a person, and the person.
    async fn people_around(&self, user: UserId, max_members: u32) -> Result<Vec<PersonPresence>, StoreError>;

    /// For each of these people the rooms of at most `max_members` they are in.
    async fn rooms_of_people(
        &self,
        people: &[UserId],
        max_members: u32,
    ) -> Result<Vec<(UserId, RoomId)>, StoreError>;
}
