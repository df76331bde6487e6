//! Creating a room.

use domain::{Event, MemberRole, Principal, RoomId, UserId};
use uuid::Uuid;

use super::super::append::append;
use super::super::fault::Fault;
use super::super::row::Columns;
use super::super::transaction::Tx;
use super::{CREATE, CREATE_STREAM, JOIN, RECALL, REMEMBER, candidates};
use crate::devices::IdempotencyKey;
use crate::number::bigint;
use crate::rooms::rules::{Before, Plan, Recalled, joining};
use crate::rooms::{NewRoom, RoomCreated};

pub(super) fn create(tx: &Tx<'_>, plan: &Plan<'_>) -> Result<RoomCreated, Fault> {
    let NewRoom { id, kind, creator, key, .. } = plan.room;
    let recalled = recall(tx, plan)?;
    let enabled: Vec<Principal> = candidates(tx, *id, &plan.members)?
        .into_iter()
        .filter(|candidate| candidate.enabled)
        .map(|candidate| candidate.who)
        .collect();
    let there_before = |room| RoomCreated { room, created: false, events: Vec::new() };
    match plan.judge(&recalled, &enabled)? {
        Before::Nothing => {}
        Before::Made(room) => return Ok(there_before(room)),
        Before::Dm(room) => {
            remember(tx, *creator, key.as_ref(), room)?;
            return Ok(there_before(room));
        }
    }
    tx.execute(CREATE_STREAM, &[&id.0])?;
    tx.execute(CREATE, &[&id.0, &kind.as_str(), &plan.name(), &plan.pair, &creator.0, &tx.micros()])?;
    remember(tx, *creator, key.as_ref(), *id)?;
    Ok(RoomCreated { room: *id, created: true, events: furnish(tx, plan)? })
}

fn recall(tx: &Tx<'_>, plan: &Plan<'_>) -> Result<Recalled, Fault> {
    let NewRoom { id, creator, key, .. } = plan.room;
    tx.row(RECALL, &[&creator.0, key, &id.0, &plan.pair], |row| {
        let subject: Option<String> = row.value("subject")?;
        let created: Option<Uuid> = row.value("created_id")?;
        Ok(Recalled {
            used: subject.zip(created.map(RoomId)),
            repeated: row.value::<Option<Uuid>>("repeated")?.map(RoomId),
            dm: row.value::<Option<Uuid>>("dm")?.map(RoomId),
        })
    })?
    .ok_or_else(|| Fault::internal("rooms/recall gave no row"))
}

fn remember(tx: &Tx<'_>, creator: UserId, key: Option<&IdempotencyKey>, room: RoomId) -> Result<(), Fault> {
    if let Some(key) = key {
        tx.execute(REMEMBER, &[&creator.0, key, &room.0, &tx.micros()])?;
    }
    Ok(())
}

/// The first members come in.
fn furnish(tx: &Tx<'_>, plan: &Plan<'_>) -> Result<Vec<Event>, Fault> {
    let NewRoom { id, kind, creator, .. } = plan.room;
    let roles = plan.roles();
    join(tx, *id, roles.iter().map(|(member, role)| (*member, *role, 0)))?;
    append(tx, &joining(*creator, *id, *kind, plan.name(), 0, &roles))
}

/// Makes people and agents members, each with what counts as read. A microsecond lies between them, so that the order of joining
/// is the given one.
pub(super) fn join(
    tx: &Tx<'_>,
    room: RoomId,
    members: impl Iterator<Item = (Principal, MemberRole, u64)>,
) -> Result<(), Fault> {
    for (at, (member, role, read)) in (tx.micros()..).zip(members) {
        tx.execute(JOIN, &[&room.0, &member.id(), &member.kind(), &role.as_str(), &bigint(read), &at])?;
    }
    Ok(())
}
