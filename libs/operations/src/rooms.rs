//! Rooms, members, and what was read.

use domain::{Invalid, Principal, RoomId, RoomKind, UserId, text};
use store::Refusal;
use store::rooms::{NewRoom, RoomCreated, RoomSettings};
use uuid::Uuid;

use crate::Operations;
use crate::error::Error;

/// Most people and agents that one call adds to a room.
pub const MAX_MEMBERS_PER_CALL: usize = 500;

impl Operations {
    /// Creates a group, or finds or creates the dm of a pair.
    ///
    /// # Errors
    ///
    /// `Invalid` for the name or the members; `NotFound` for unknown people or agents; `Conflict` for a dm with an agent.
    pub async fn create_room(&self, mut room: NewRoom) -> Result<RoomCreated, Error> {
        room.members.retain(|member| *member != room.creator.into());
        room.members.sort_unstable();
        room.members.dedup();
        check_members(room.members.len())?;
        match (room.kind, &room.name) {
            (RoomKind::Group, Some(name)) => text::name("name", name)?,
            (RoomKind::Group, None) => {
                return Err(Invalid::described("name", "no name", "a name for a group").into());
            }
            (RoomKind::Dm, Some(name)) => {
                return Err(Invalid::new("name", name, "no name for a dm").into());
            }
            (RoomKind::Dm, None) if room.members.len() != 1 => {
                let given = format!("{} other people", room.members.len());
                return Err(Invalid::described("members", given, "exactly one other person for a dm").into());
            }
            (RoomKind::Dm, None) => {}
        }
        if let Some(key) = &room.key {
            text::nonce("Idempotency-Key", key)?;
        }
        let mut created = self.store.create_room(&room).await?;
        self.announcer.events(std::mem::take(&mut created.events));
        Ok(created)
    }

    /// Which of these ids are of people and which of agents, in their order. An id that nobody has counts as a person's,
    /// whom the call that it is for does not find.
    ///
    /// # Errors
    ///
    /// `Invalid` for too many at once.
    pub async fn principals(&self, ids: &[Uuid]) -> Result<Vec<Principal>, Error> {
        check_members(ids.len())?;
        let known = self.store.principals(ids).await?;
        let of = |id: &Uuid| known.iter().find(|principal| principal.id() == *id).copied();
        Ok(ids.iter().map(|id| of(id).unwrap_or(Principal::User(UserId(*id)))).collect())
    }

    /// Adds members to a group.
    ///
    /// # Errors
    ///
    /// `Invalid` for too many at once; `Forbidden`, `Conflict`, `NotFound`.
    pub async fn add_members(&self, actor: UserId, room: RoomId, members: &[Principal]) -> Result<(), Error> {
        if members.is_empty() {
            return Err(Invalid::described("user_id", "nobody", "at least one person or agent").into());
        }
        check_members(members.len())?;
        self.announcer.events(self.store.add_members(actor, room, members).await?);
        Ok(())
    }

    /// Removes a member, or leaves.
    ///
    /// # Errors
    ///
    /// `Forbidden`, `Conflict`, `NotFound`.
    pub async fn remove_member(&self, actor: UserId, room: RoomId, member: Principal) -> Result<(), Error> {
        self.announcer.events(self.store.remove_member(actor, room, member).await?);
        Ok(())
    }

    /// Moves what a person has read forward; answers the seq that stands.
    ///
    /// # Errors
    ///
    /// `Invalid` when `seq` is beyond the head; `NotFound`.
    pub async fn set_read(&self, user: UserId, room: RoomId, seq: u64) -> Result<u64, Error> {
        let (stands, events) = self.store.set_read(user, room, seq).await?;
        self.announcer.events(events);
        Ok(stands)
    }

    /// Changes the settings of a room.
    ///
    /// # Errors
    ///
    /// `Invalid` for the name; `Forbidden`, `Conflict`, `NotFound`.
    pub async fn set_room_settings(
        &self,
        user: UserId,
        room: RoomId,
        settings: &RoomSettings,
    ) -> Result<(), Error> {
        if let Some(name) = &settings.name {
            text::name("name", name)?;
        }
        self.announcer.events(self.store.set_room_settings(user, room, settings).await?);
        Ok(())
    }

    /// Tells the members of a room that a person types; more often than
    /// `sync.typing_min_interval` is ignored.
    ///
    /// # Errors
    ///
    /// `NotFound` for a room the person is not in.
    pub async fn typing(&self, user: UserId, room: RoomId) -> Result<(), Error> {
        if !self.announcer.hub().user_follows(user, room)
            && self.store.room(user.into(), room).await?.is_none()
        {
            return Err(Refusal::NotFound("room").into());
        }
        if self.typing.allows(user, room) {
            self.announcer.typing(room, user);
        }
        Ok(())
    }
}

fn check_members(count: usize) -> Result<(), Error> {
    if count > MAX_MEMBERS_PER_CALL {
        let allowed = format!("at most {MAX_MEMBERS_PER_CALL} in one call");
        return Err(Invalid::described("members", format!("{count} members"), allowed).into());
    }
    Ok(())
}
