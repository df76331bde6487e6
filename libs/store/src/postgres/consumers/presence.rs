//! How agents are seen.

use domain::AgentId;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::consumers::{AgentPresence, AgentStatus};
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;

/// Ids as a parameter.
pub(super) fn bare(agents: &[AgentId]) -> Vec<Uuid> {
    agents.iter().map(|agent| agent.0).collect()
}

pub(super) fn read_all(rows: &[Row]) -> Result<Vec<AgentPresence>, Fault> {
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<AgentPresence, Fault> {
    let status = match row.value("status")? {
        "online" => AgentStatus::Online,
        "busy" => AgentStatus::Busy,
        "offline" => AgentStatus::Offline,
        other => return Err(Fault::internal(format!("an agent that is {other:?}"))),
    };
    Ok(AgentPresence { agent: AgentId(row.value("agent_id")?), status, version: row.count("version")? })
}
