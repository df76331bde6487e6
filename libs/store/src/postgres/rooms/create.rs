//! Creating a room.
//!
//! The inboxes of all members are locked first, so calls that share one come one after the other, and the second finds what
//! the first made. Where they share none (the same id or key from elsewhere) the unique indexes decide,
//! and the loser begins anew.

use domain::{Event, MemberRole, Principal, RoomId, RoomKind};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{CREATE, ENABLED, JOIN, RECALL, REMEMBER, ids_and_kinds, joining, nobody, pair, streams};
use crate::error::{Refusal, StoreError};
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append};
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::rooms::{NewRoom, RoomCreated};

const NO_DM: &str = "an agent has no dms; add it to a group";

/// A room to be created, checked.
pub(super) struct Plan<'a> {
    room: &'a NewRoom,
    /// The creator first, nobody twice.
    members: Vec<Principal>,
    pair: Option<String>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(room: &'a NewRoom) -> Result<Self, StoreError> {
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
            (RoomKind::Dm, [_, Principal::Agent(_)]) => return Err(Refusal::Conflict(NO_DM).into()),
            (RoomKind::Dm, _) => return Err(Refusal::Invalid("members", "one other person").into()),
        };
        Ok(Self { room, members, pair })
    }

    /// The creator owns the room.
    fn roles(&self) -> Vec<(Principal, MemberRole)> {
        let role = |place| if place == 0 { MemberRole::Owner } else { MemberRole::Member };
        self.members.iter().enumerate().map(|(place, member)| (*member, role(place))).collect()
    }

    fn name(&self) -> Option<&'a str> {
        self.room.name.as_deref().filter(|_| self.room.kind == RoomKind::Group)
    }

    /// Looks, under the lock, for what was there before and at the members.
    fn judge(&self, recalled: &[Row], enabled: &[Row]) -> Result<Before, Fault> {
        let recalled = recalled.first().ok_or_else(|| Fault::internal("rooms/recall gave no row"))?;
        if let Some(subject) = recalled.value::<Option<&str>>("subject")? {
            if subject != "room" {
                return Err(Refusal::NonceReused.into());
            }
            return Ok(Before::Made(RoomId(recalled.value("created_id")?)));
        }
        if let Some(id) = recalled.value::<Option<Uuid>>("repeated")? {
            return Ok(Before::Made(RoomId(id)));
        }
        let enabled: Vec<Principal> =
            enabled.iter().map(|row| row::principal(row, "kind", "id")).collect::<Result<_, Fault>>()?;
        if !enabled.contains(&self.room.creator.into()) {
            return Err(Refusal::Forbidden.into());
        }
        if let Some(missing) = self.members.iter().find(|member| !enabled.contains(member)) {
            return Err(nobody(*missing).into());
        }
        Ok(recalled.value::<Option<Uuid>>("dm")?.map_or(Before::Nothing, |id| Before::Dm(RoomId(id))))
    }
}

/// What a creating call finds.
enum Before {
    Nothing,
    /// The pair talks already.
    Dm(RoomId),
    /// This call was made before.
    Made(RoomId),
}

impl Postgres {
    pub(super) async fn try_create_room(&self, plan: &Plan<'_>) -> Result<RoomCreated, Fault> {
        let (room, creator) = (plan.room.id.0, plan.room.creator.0);
        let (ids, kinds) = ids_and_kinds(plan.members.iter().copied());
        let session = self.session().await?;
        let (transaction, [_, recalled, enabled]) = session
            .begin([
                (append::LOCK, &[&streams(None, &plan.members)]),
                (RECALL, &[&creator, &plan.room.key, &room, &plan.pair]),
                (ENABLED, &[&ids, &kinds]),
            ])
            .await?;
        let (transaction, before) = transaction.decided(plan.judge(&recalled, &enabled)).await?;
        let there_before = |room| RoomCreated { room, created: false, events: Vec::new() };
        match before {
            Before::Nothing => {}
            Before::Made(room) => {
                transaction.rollback().await;
                return Ok(there_before(room));
            }
            Before::Dm(room) => {
                transaction.commit([(REMEMBER, &[&creator, &plan.room.key, &room.0])]).await?;
                return Ok(there_before(room));
            }
        }
        let [created, taken] = transaction
            .run([
                (CREATE, &[&room, &plan.room.kind.as_str(), &plan.name(), &plan.pair, &creator]),
                (REMEMBER, &[&creator, &plan.room.key, &room]),
            ])
            .await?;
        let first = if created.is_empty() || !taken.is_empty() {
            Err(Fault::Contended("another call created it first".into()))
        } else {
            Ok(())
        };
        let (transaction, ()) = transaction.decided(first).await?;
        let events = transaction.join(plan).await?;
        Ok(RoomCreated { room: plan.room.id, created: true, events })
    }
}

impl crate::postgres::transaction::Transaction<'_> {
    async fn join(self, plan: &Plan<'_>) -> Result<Vec<Event>, Fault> {
        let roles = plan.roles();
        let names: Vec<&str> = roles.iter().map(|(_, role)| role.as_str()).collect();
        let (ids, kinds) = ids_and_kinds(plan.members.iter().copied());
        let nothing_read = vec![0_i64; ids.len()];
        let NewRoom { id, kind, creator, .. } = plan.room;
        let drafts = joining(*creator, *id, *kind, plan.name(), 0, &roles);
        let append = Append::new(&drafts);
        let [_, rows] = self
            .commit([
                (JOIN, &[&id.0, &ids, &kinds, &names, &nothing_read]),
                (append::APPEND, &append.params()),
            ])
            .await?;
        append.events(&rows)
    }
}
