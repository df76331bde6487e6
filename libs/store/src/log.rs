//! The log: streams of events, read by version.
//!
//! Terms: `head` is the seq of the newest event of a stream, 0 before the first. `floor` is the seq
//! of the newest event that is no longer kept, 0 while all are: a cursor `c` can be resumed when
//! `floor <= c <= head`. The *log epoch* names the life of the log in which seqs never went back.

use async_trait::async_trait;
use domain::{Event, LogEpoch, Principal, RoomId, RoomKind, StreamRef, User, UserId};
use uuid::Uuid;

use crate::error::StoreError;

pub(crate) mod draft;

/// Which part of a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Events with a seq above, oldest first.
    After(u64),
    /// Events with a seq below, the newest of them, still oldest first.
    Before(u64),
}

/// A page of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The events, ascending by seq.
    pub events: Vec<Event>,
    /// Seq of the newest event that is no longer kept.
    pub floor: u64,
    /// Seq of the newest event, read in the same snapshot.
    pub head: u64,
}

/// A room in [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomSummary {
    /// Which.
    pub id: RoomId,
    /// What it is.
    pub kind: RoomKind,
    /// Its name.
    pub name: Option<String>,
    /// Position of its stream.
    pub head: u64,
    /// What is no longer kept of it.
    pub floor: u64,
    /// What the person has read.
    pub last_read: u64,
    /// Whether the person muted it.
    pub muted: bool,
}

/// State and positions of everything a person follows, read in one database snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The epoch that the positions belong to.
    pub log_epoch: LogEpoch,
    /// Who.
    pub user: User,
    /// Head and floor of the person's own stream.
    pub inbox: (u64, u64),
    /// The rooms, by id.
    pub rooms: Vec<RoomSummary>,
}

/// Heads of streams and the epoch they belong to, read in one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heads {
    /// The epoch.
    pub log_epoch: LogEpoch,
    /// Stream id and head; streams that are gone are left out.
    pub heads: Vec<(Uuid, u64)>,
}

/// Reading the log.
#[async_trait]
pub trait Log {
    /// The state of everything a person follows. None when there is no such person, or they are disabled.
    async fn snapshot(&self, user: UserId) -> Result<Option<Snapshot>, StoreError>;

    /// A page of a stream for a person or an agent, at most `limit` events. None when it is not theirs to read: membership,
    /// and that they are not disabled or revoked, is checked in the same statement, at every read.
    async fn page(
        &self,
        reader: Principal,
        stream: StreamRef,
        range: Range,
        limit: u32,
    ) -> Result<Option<Page>, StoreError>;

    /// For each stream the events after a seq, at most `limit` each, ascending within a stream. For
    /// relays, which look to membership themselves.
    async fn events_since(&self, streams: &[(StreamRef, u64)], limit: u32) -> Result<Vec<Event>, StoreError>;

    /// The heads of streams.
    async fn heads(&self, streams: &[Uuid]) -> Result<Heads, StoreError>;

    /// The present epoch. Also compares the identity of the database with the one noted, and begins a
    /// new epoch when it changed (a restored or copied database).
    async fn log_epoch(&self) -> Result<LogEpoch, StoreError>;

    /// Begins a new epoch, unless `expected` is no longer the present one (another node was first).
    /// Answers the epoch that stands.
    async fn renew_log_epoch(&self, expected: LogEpoch) -> Result<LogEpoch, StoreError>;
}
