//! Adding and removing members.

use std::collections::HashMap;

use domain::{Event, MemberRole, Principal, RoomId, Sender, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{ACTOR, JOIN, LEAVE, LEAVER, NEWCOMERS, PROMOTE, actor as read_actor, ids_and_kinds, streams};
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append};
use crate::postgres::row::{self, Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::rooms::rules::{self, DM_KEEPS_MEMBERS, Leaver, NO_ROOM, joining};

impl Postgres {
    pub(super) async fn try_add_members(
        &self,
        actor: UserId,
        room: RoomId,
        members: &[Principal],
    ) -> Result<Vec<Event>, Fault> {
        let (ids, kinds) = ids_and_kinds(members.iter().copied());
        let session = self.session().await?;
        let (transaction, [locked, as_actor, found]) = session
            .begin([
                (append::LOCK, &[&streams(Some(room), members)]),
                (ACTOR, &[&room.0, &actor.0]),
                (NEWCOMERS, &[&room.0, &ids, &kinds]),
            ])
            .await?;
        let decision = read_actor(&as_actor)
            .and_then(|actor| Ok(actor.in_group(DM_KEEPS_MEMBERS)?.owning()?))
            .and_then(|actor| Ok((actor, newcomers(members, &found)?, head_of(room, &locked)?)));
        let (transaction, (as_actor, newcomers, head)) = transaction.decided(decision).await?;
        if newcomers.is_empty() {
            transaction.rollback().await;
            return Ok(Vec::new());
        }
        let (ids, kinds) = ids_and_kinds(newcomers.iter().map(|(member, _)| *member));
        let roles: Vec<&str> = newcomers.iter().map(|(_, role)| role.as_str()).collect();
        let read: Vec<i64> = newcomers.iter().zip(head..).map(|(_, before)| bigint(before)).collect();
        let drafts = joining(actor, room, as_actor.kind, as_actor.name.as_deref(), head, &newcomers);
        let append = Append::new(&drafts);
        let [_, rows] = transaction
            .commit([(JOIN, &[&room.0, &ids, &kinds, &roles, &read]), (append::APPEND, &append.params())])
            .await?;
        append.events(&rows)
    }

    pub(super) async fn try_remove_member(
        &self,
        actor: UserId,
        room: RoomId,
        member: Principal,
    ) -> Result<Vec<Event>, Fault> {
        let session = self.session().await?;
        let mut concerned = streams(Some(room), &[member]);
        if let Principal::Agent(agent) = member {
            concerned.extend(session.concerned_by(agent, Some(room)).await?);
        }
        let (transaction, [locked, as_actor, leaver]) = session
            .begin([
                (append::LOCK, &[&concerned]),
                (ACTOR, &[&room.0, &actor.0]),
                (LEAVER, &[&room.0, &member.id(), &member.kind()]),
            ])
            .await?;
        let decision = read_actor(&as_actor)
            .and_then(|actor| Ok(actor.in_group(DM_KEEPS_MEMBERS)?))
            .and_then(|as_actor| if member == actor.into() { Ok(as_actor) } else { Ok(as_actor.owning()?) })
            .and_then(|_| read_leaver(room, &locked, &leaver));
        let (transaction, leaver) = transaction.decided(decision).await?;
        let Some(leaver) = leaver else {
            transaction.rollback().await;
            return Ok(Vec::new());
        };
        let ended = match member {
            Principal::Agent(agent) => {
                transaction.end_runs(agent, Some(room), Sender::User(actor), &concerned).await
            }
            Principal::User(_) => Ok(Vec::new()),
        };
        let (transaction, mut drafts) = transaction.decided(ended).await?;
        drafts.extend(leaver.leaves(actor, room, member, &drafts));
        let append = Append::new(&drafts);
        let [_, _, rows] = transaction
            .commit([
                (LEAVE, &[&room.0, &member.id()]),
                (PROMOTE, &[&room.0, &leaver.heir]),
                (append::APPEND, &append.params()),
            ])
            .await?;
        append.events(&rows)
    }
}

/// Of those asked for the ones who are not in the room, in the order given.
fn newcomers(asked: &[Principal], found: &[Row]) -> Result<Vec<(Principal, MemberRole)>, Fault> {
    let mut present: HashMap<Principal, bool> = HashMap::with_capacity(found.len());
    for row in found {
        present.insert(row::principal(row, "kind", "id")?, row.value("present")?);
    }
    Ok(rules::newcomers(asked, present)?)
}

fn head_of(room: RoomId, locked: &[Row]) -> Result<u64, Fault> {
    for row in locked {
        if row.value::<Uuid>("id")? == room.0 {
            return row.count("head");
        }
    }
    Err(NO_ROOM.into())
}

/// Somebody who is in the room and goes.
fn read_leaver(room: RoomId, locked: &[Row], rows: &[Row]) -> Result<Option<Leaver>, Fault> {
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Leaver { heir: row.value("heir")?, head: head_of(room, locked)? }))
}
