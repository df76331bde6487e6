//! What is decided on rooms, whatever database keeps them.

use std::collections::HashMap;

use domain::{EventKind, MemberRole, Principal, RoomId, RoomKind, UserId};
use serde_json::json;
use uuid::Uuid;

use super::{NewRoom, pair};
use crate::error::Refusal;
use crate::log::draft::Draft;

pub(crate) const NO_ROOM: Refusal = Refusal::NotFound("room");
pub(crate) const DM_KEEPS_MEMBERS: &str = "a dm keeps its two members";
const NO_DM: &str = "an agent has no dms; add it to a group";

/// Nobody like this is there, or may become a member.
const fn nobody(member: Principal) -> Refusal {
    Refusal::NotFound(match member {
        Principal::User(_) => "person",
        Principal::Agent(_) => "agent",
    })
}

/// Who wants to change a room, and the room.
pub(crate) struct Actor {
    pub(crate) role: MemberRole,
    pub(crate) kind: RoomKind,
    pub(crate) name: Option<String>,
}

impl Actor {
    pub(crate) fn in_group(self, otherwise: &'static str) -> Result<Self, Refusal> {
        if self.kind == RoomKind::Group { Ok(self) } else { Err(Refusal::Conflict(otherwise)) }
    }

    pub(crate) fn owning(self) -> Result<Self, Refusal> {
        if self.role == MemberRole::Owner { Ok(self) } else { Err(Refusal::Forbidden) }
    }

    /// `room.updated`, if the name is another.
    pub(crate) fn renames(&self, user: UserId, room: RoomId, name: &str) -> Option<Draft> {
        (self.name.as_deref() != Some(name))
            .then(|| Draft::of_user(user, room, EventKind::RoomUpdated, &json!({ "name": name })))
    }
}

/// A room to be created, checked.
pub(crate) struct Plan<'a> {
    pub(crate) room: &'a NewRoom,
    /// The creator first, nobody twice.
    pub(crate) members: Vec<Principal>,
    pub(crate) pair: Option<String>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(room: &'a NewRoom) -> Result<Self, Refusal> {
        let mut members = vec![Principal::User(room.creator)];
        for member in &room.members {
            if !members.contains(member) {
                members.push(*member);
            }
        }
        let pair = match (room.kind, members.as_slice()) {
            (RoomKind::Group, _) => None,
            (RoomKind::Dm, [Principal::User(one), Principal::User(other)]) => {
                Some(pair::written(*one, *other))
            }
            (RoomKind::Dm, [_, Principal::Agent(_)]) => return Err(Refusal::Conflict(NO_DM)),
            (RoomKind::Dm, _) => return Err(Refusal::Invalid("members", "one other person")),
        };
        Ok(Self { room, members, pair })
    }

    /// The creator owns the room.
    pub(crate) fn roles(&self) -> Vec<(Principal, MemberRole)> {
        let role = |place| if place == 0 { MemberRole::Owner } else { MemberRole::Member };
        self.members.iter().enumerate().map(|(place, member)| (*member, role(place))).collect()
    }

    pub(crate) fn name(&self) -> Option<&'a str> {
        self.room.name.as_deref().filter(|_| self.room.kind == RoomKind::Group)
    }

    /// Looks at what was there before, and at those of the members who may become one.
    pub(crate) fn judge(&self, before: &Recalled, enabled: &[Principal]) -> Result<Before, Refusal> {
        if let Some((subject, created)) = &before.used {
            return if subject == "room" { Ok(Before::Made(*created)) } else { Err(Refusal::NonceReused) };
        }
        if let Some(room) = before.repeated {
            return Ok(Before::Made(room));
        }
        if !enabled.contains(&self.room.creator.into()) {
            return Err(Refusal::Forbidden);
        }
        if let Some(missing) = self.members.iter().find(|member| !enabled.contains(member)) {
            return Err(nobody(*missing));
        }
        Ok(before.dm.map_or(Before::Nothing, Before::Dm))
    }
}

/// What may have been there before a creating call.
pub(crate) struct Recalled {
    /// What its key made.
    pub(crate) used: Option<(String, RoomId)>,
    /// A room of this id by the same creator.
    pub(crate) repeated: Option<RoomId>,
    /// The dm of the pair.
    pub(crate) dm: Option<RoomId>,
}

/// What a creating call finds.
pub(crate) enum Before {
    Nothing,
    /// The pair talks already.
    Dm(RoomId),
    /// This call was made before.
    Made(RoomId),
}

/// Of those asked for the ones who are not in the room, in the order given. `present`: those who are there, and whether in the room.
pub(crate) fn newcomers(
    asked: &[Principal],
    mut present: HashMap<Principal, bool>,
) -> Result<Vec<(Principal, MemberRole)>, Refusal> {
    let mut newcomers = Vec::new();
    for member in asked {
        // Whoever is taken once counts as present, should they be named twice.
        if !present.insert(*member, true).ok_or(nobody(*member))? {
            newcomers.push((*member, MemberRole::Member));
        }
    }
    Ok(newcomers)
}

/// `member.joined` in the room for each of these people and agents, and `room.added` in their inboxes. `head` is the room's
/// head before the first of them; what each gets of the room begins with their own coming.
pub(crate) fn joining(
    actor: UserId,
    room: RoomId,
    kind: RoomKind,
    name: Option<&str>,
    head: u64,
    members: &[(Principal, MemberRole)],
) -> Vec<Draft> {
    let mut drafts = Vec::with_capacity(members.len() * 2);
    for ((member, role), head) in members.iter().zip(head..) {
        let joined = json!({ member.field(): member.id(), "role": role });
        drafts.push(Draft::of_user(actor, room, EventKind::MemberJoined, &joined));
        let added = json!({ "room_id": room, "kind": kind, "name": name, "head": head });
        drafts.push(Draft::of_user(actor, member.stream(), EventKind::RoomAdded, &added));
    }
    drafts
}

/// Somebody who is in the room and goes.
pub(crate) struct Leaver {
    /// Who becomes owner then.
    pub(crate) heir: Option<Uuid>,
    /// Head of the room before.
    pub(crate) head: u64,
}

impl Leaver {
    /// `member.left` and `room.removed`, after what was said before them.
    pub(crate) fn leaves(
        &self,
        actor: UserId,
        room: RoomId,
        member: Principal,
        before: &[Draft],
    ) -> [Draft; 2] {
        let mut left = json!({ member.field(): member.id() });
        if let Some(heir) = self.heir {
            left["new_owner"] = json!(heir);
        }
        let said = before.iter().filter(|draft| draft.stream == room.into()).count() as u64;
        // Delivery of the room ends before its `member.left`: nodes may hear of this one first.
        let removed = json!({ "room_id": room, "seq": self.head + said + 1 });
        [
            Draft::of_user(actor, room, EventKind::MemberLeft, &left),
            Draft::of_user(actor, member.stream(), EventKind::RoomRemoved, &removed),
        ]
    }
}
