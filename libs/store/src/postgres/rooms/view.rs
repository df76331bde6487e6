//! Reading rooms as their members see them.

use domain::{Invalid, Principal, RoomId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::rooms::{Member, RoomView};

pub(super) fn read(row: &Row) -> Result<RoomView, Fault> {
    let ids: Vec<Uuid> = row.value("member_ids")?;
    let kinds: Vec<&str> = row.value("member_kinds")?;
    let roles: Vec<&str> = row.value("member_roles")?;
    let members = ids.into_iter().zip(kinds).zip(roles).map(|((id, kind), role)| member(kind, id, role));
    Ok(RoomView {
        id: RoomId(row.value("id")?),
        kind: row.named("kind")?,
        name: row.value("name")?,
        members: members
            .collect::<Result<_, Invalid>>()
            .map_err(|error| Fault::internal(error.to_string()))?,
        head: row.count("head")?,
        floor: row.count("floor")?,
        last_read: row.count("last_read")?,
        muted: row.value("muted")?,
    })
}

fn member(kind: &str, id: Uuid, role: &str) -> Result<Member, Invalid> {
    Ok(Member { member: Principal::from_parts(kind, id)?, role: role.parse()? })
}
