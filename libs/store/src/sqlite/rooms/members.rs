//! Adding and removing members.

use std::collections::HashMap;

use domain::{Event, Principal, RoomId, Sender, UserId};
use uuid::Uuid;

use super::super::append::append;
use super::super::fault::Fault;
use super::super::row::Columns;
use super::super::runs::end_runs;
use super::super::transaction::Tx;
use super::create::join;
use super::{LEAVE, LEAVER, PROMOTE, actor as read_actor, candidates};
use crate::rooms::rules::{DM_KEEPS_MEMBERS, Leaver, joining, newcomers};

pub(super) fn add(
    tx: &Tx<'_>,
    actor: UserId,
    room: RoomId,
    members: &[Principal],
) -> Result<Vec<Event>, Fault> {
    let (as_actor, head) = read_actor(tx, room, actor)?;
    let as_actor = as_actor.in_group(DM_KEEPS_MEMBERS)?.owning()?;
    // Somebody disabled, and an agent that is revoked, counts only as the member they are.
    let present: HashMap<Principal, bool> = candidates(tx, room, members)?
        .into_iter()
        .filter(|candidate| candidate.enabled || candidate.present)
        .map(|candidate| (candidate.who, candidate.present))
        .collect();
    let newcomers = newcomers(members, present)?;
    join(tx, room, newcomers.iter().zip(head..).map(|((member, role), before)| (*member, *role, before)))?;
    append(tx, &joining(actor, room, as_actor.kind, as_actor.name.as_deref(), head, &newcomers))
}

pub(super) fn remove(
    tx: &Tx<'_>,
    actor: UserId,
    room: RoomId,
    member: Principal,
) -> Result<Vec<Event>, Fault> {
    let (as_actor, head) = read_actor(tx, room, actor)?;
    let as_actor = as_actor.in_group(DM_KEEPS_MEMBERS)?;
    if member != actor.into() {
        as_actor.owning()?;
    }
    let heir =
        tx.row(LEAVER, &[&room.0, &member.id(), &member.kind()], |row| row.value::<Option<Uuid>>("heir"))?;
    let Some(heir) = heir else { return Ok(Vec::new()) };
    let mut drafts = match member {
        Principal::Agent(agent) => end_runs(tx, agent, Some(room), Sender::User(actor))?,
        Principal::User(_) => Vec::new(),
    };
    drafts.extend(Leaver { heir, head }.leaves(actor, room, member, &drafts));
    tx.execute(LEAVE, &[&room.0, &member.id()])?;
    if let Some(heir) = heir {
        tx.execute(PROMOTE, &[&room.0, &heir])?;
    }
    append(tx, &drafts)
}
