//! Reading rooms as their members see them.

use std::collections::HashMap;

use domain::{Principal, RoomId};
use rusqlite::Row;
use uuid::Uuid;

use super::super::fault::Fault;
use super::super::row::{self, Columns};
use super::super::transaction::Tx;
use super::super::value::array;
use super::{LIST, MEMBERS, VIEW};
use crate::rooms::{Member, RoomView};

pub(super) fn one(tx: &Tx<'_>, reader: Principal, room: RoomId) -> Result<Option<RoomView>, Fault> {
    let found = tx.row(VIEW, &[&room.0, &reader.id(), &reader.kind()], read)?;
    let mut views: Vec<RoomView> = found.into_iter().collect();
    fill(tx, &mut views)?;
    Ok(views.pop())
}

pub(super) fn list(
    tx: &Tx<'_>,
    reader: Principal,
    after: Option<RoomId>,
    limit: u32,
) -> Result<Vec<RoomView>, Fault> {
    let after = after.map(Uuid::from);
    let mut views = tx.rows(LIST, &[&reader.id(), &reader.kind(), &after, &limit], read)?;
    fill(tx, &mut views)?;
    Ok(views)
}

/// A room without its members.
fn read(row: &Row<'_>) -> Result<RoomView, Fault> {
    Ok(RoomView {
        id: RoomId(row.value("id")?),
        kind: row.named("kind")?,
        name: row.value("name")?,
        members: Vec::new(),
        head: row.count("head")?,
        floor: row.count("floor")?,
        last_read: row.count("last_read")?,
        muted: row.value("muted")?,
    })
}

/// Puts the members into the rooms.
fn fill(tx: &Tx<'_>, views: &mut [RoomView]) -> Result<(), Fault> {
    let rooms: Vec<Uuid> = views.iter().map(|view| view.id.0).collect();
    let found = tx.rows(MEMBERS, &[&array(rooms)], |row| {
        let member =
            Member { member: row::principal(row, "member_kind", "member_id")?, role: row.named("role")? };
        Ok((row.value::<Uuid>("room_id")?, member))
    })?;
    let mut members: HashMap<Uuid, Vec<Member>> = HashMap::new();
    for (room, member) in found {
        members.entry(room).or_default().push(member);
    }
    for view in views {
        view.members = members.remove(&view.id.0).unwrap_or_default();
    }
    Ok(())
}
