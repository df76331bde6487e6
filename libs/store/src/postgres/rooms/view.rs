//! Reading rooms as their members see them.

use domain::{MemberRole, RoomId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::rooms::{Member, RoomView};

pub(super) fn read(row: &Row) -> Result<RoomView, Fault> {
    let ids: Vec<Uuid> = row.value("member_ids")?;
    let roles: Vec<&str> = row.value("member_roles")?;
    let members = ids.into_iter().zip(roles).map(|(id, role)| {
        let role: MemberRole =
            role.parse().map_err(|error: domain::Invalid| Fault::internal(error.to_string()))?;
        Ok(Member { user: UserId(id), role })
    });
    Ok(RoomView {
        id: RoomId(row.value("id")?),
        kind: row.named("kind")?,
        name: row.value("name")?,
        members: members.collect::<Result<_, Fault>>()?,
        head: row.count("head")?,
        floor: row.count("floor")?,
        last_read: row.count("last_read")?,
        muted: row.value("muted")?,
    })
}
