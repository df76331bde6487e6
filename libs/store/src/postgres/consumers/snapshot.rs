//! What an agent's connection begins with.

use domain::{Agent, AgentId, LogEpoch, RoomId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::consumers::AgentSnapshot;
use crate::log::RoomSummary;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;

pub(super) fn read(rows: &[Row]) -> Result<Option<AgentSnapshot>, Fault> {
    let Some(first) = rows.first() else { return Ok(None) };
    let mut rooms = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(id) = row.value::<Option<Uuid>>("room_id")? else { continue };
        rooms.push(RoomSummary {
            id: RoomId(id),
            kind: row.named("room_kind")?,
            name: row.value("name")?,
            head: row.count("head")?,
            floor: row.count("floor")?,
            last_read: row.count("last_read")?,
            muted: row.value("muted")?,
        });
    }
    let max_runs: i32 = first.value("max_runs")?;
    Ok(Some(AgentSnapshot {
        log_epoch: LogEpoch(first.value("log_epoch")?),
        agent: Agent {
            id: AgentId(first.value("id")?),
            owner: UserId(first.value("owner_id")?),
            handle: first.value("handle")?,
            display_name: first.value("display_name")?,
            max_runs: u32::try_from(max_runs).map_err(|_| Fault::internal("max_runs is negative"))?,
            revoked: first.value("revoked")?,
            created_at: first.value("created_at")?,
        },
        inbox: (first.count("inbox_head")?, first.count("inbox_floor")?),
        rooms,
    }))
}
