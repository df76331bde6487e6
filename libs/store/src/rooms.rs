//! Rooms, their members, and what each member has read.

use async_trait::async_trait;
use domain::{Event, MemberRole, Principal, RoomId, RoomKind, UserId};

use crate::devices::IdempotencyKey;
use crate::error::StoreError;

pub(crate) mod pair;
pub(crate) mod rules;

/// A room to be created.
#[derive(Debug, Clone)]
pub struct NewRoom {
    /// The id chosen by the caller.
    pub id: RoomId,
    /// What it is.
    pub kind: RoomKind,
    /// Its name; dms have none.
    pub name: Option<String>,
    /// Who creates it, and owns it. Agents own nothing.
    pub creator: UserId,
    /// The other members; for a dm exactly one person.
    pub members: Vec<Principal>,
    /// Makes the call safe to repeat.
    pub key: Option<IdempotencyKey>,
}

/// What came of creating a room.
#[derive(Debug, Clone)]
pub struct RoomCreated {
    /// The room: the new one, the pair's dm that was there, or that of the repeated call.
    pub room: RoomId,
    /// False when it was there before.
    pub created: bool,
    /// What was written: `member.joined` in the room, `room.added` in the stream of each member.
    pub events: Vec<Event>,
}

/// A member as others see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub member: Principal,
    /// What they may do here.
    pub role: MemberRole,
}

/// A room as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomView {
    /// Which.
    pub id: RoomId,
    /// What it is.
    pub kind: RoomKind,
    /// Its name.
    pub name: Option<String>,
    /// Who is in it, in the order of joining.
    pub members: Vec<Member>,
    /// Seq of the newest event; 0 before the first.
    pub head: u64,
    /// Seq of the newest event that is no longer kept; 0 while all are.
    pub floor: u64,
    /// What the asking member has read.
    pub last_read: u64,
    /// Whether the asking member muted it.
    pub muted: bool,
}

/// Changes of a room's settings; what is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoomSettings {
    /// Mute for the asking member.
    pub muted: Option<bool>,
    /// A new name for everyone; owners only, groups only.
    pub name: Option<String>,
}

/// Rooms and members. Every call that names a room answers `NotFound` to people and agents who are not in it.
#[async_trait]
pub trait Rooms {
    /// Creates a room with its stream and members, or finds the dm of a pair.
    ///
    /// # Errors
    ///
    /// `NotFound` when a member does not exist, is disabled or revoked, `Forbidden` when the creator is; `NonceReused`
    /// when the key was used to create something else; `Invalid` for a dm of any but two; `Conflict` for one with an agent.
    async fn create_room(&self, room: &NewRoom) -> Result<RoomCreated, StoreError>;

    /// One room.
    async fn room(&self, reader: Principal, room: RoomId) -> Result<Option<RoomView>, StoreError>;

    /// The two people of a dm: none for a room that is not there, `Some(None)` for a group. It never changes.
    async fn dm_pair(&self, room: RoomId) -> Result<Option<Option<[UserId; 2]>>, StoreError>;

    /// The rooms of a person or an agent by id after `after`, at most `limit`.
    async fn rooms(
        &self,
        reader: Principal,
        after: Option<RoomId>,
        limit: u32,
    ) -> Result<Vec<RoomView>, StoreError>;

    /// Adds members to a group; who is in it already stays as they are. For newcomers what was written before
    /// they came counts as read. Any agent may be added that is not revoked.
    ///
    /// # Errors
    ///
    /// `Forbidden` unless the actor is an owner; `Conflict` for a dm; `NotFound` for unknown people and agents.
    async fn add_members(
        &self,
        actor: UserId,
        room: RoomId,
        members: &[Principal],
    ) -> Result<Vec<Event>, StoreError>;

    /// Removes a member, or leaves. When the last owner leaves, the person of longest standing
    /// becomes owner, and `member.left` names them as `new_owner`. The runs of an agent in this room that are not over are cancelled (`agent_revoked`)
    /// before it goes. Removing somebody who is not in it changes nothing.
    ///
    /// # Errors
    ///
    /// `Forbidden` unless the actor is an owner or leaves; `Conflict` for a dm.
    async fn remove_member(
        &self,
        actor: UserId,
        room: RoomId,
        member: Principal,
    ) -> Result<Vec<Event>, StoreError>;

    /// Moves what a person has read forward, never back. Answers the seq that stands and, when it moved,
    /// `read.moved` in the person's stream, and `notification.read` if that cleared notifications.
    ///
    /// # Errors
    ///
    /// `Invalid` when `seq` is beyond the head.
    async fn set_read(&self, user: UserId, room: RoomId, seq: u64) -> Result<(u64, Vec<Event>), StoreError>;

    /// Changes settings; a new name is announced as `room.updated`.
    ///
    /// # Errors
    ///
    /// `Forbidden` when a name is given by one who is no owner; `Conflict` for the name of a dm.
    async fn set_room_settings(
        &self,
        user: UserId,
        room: RoomId,
        settings: &RoomSettings,
    ) -> Result<Option<Event>, StoreError>;

    /// The members of a room that have these handles, by id.
    async fn members_by_handle(&self, room: RoomId, handles: &[String])
    -> Result<Vec<Principal>, StoreError>;
}
