//! How agents are seen.

use domain::AgentId;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::consumers::AgentPresence;
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
    Ok(AgentPresence {
        agent: AgentId(row.value("agent_id")?),
        status: row.named("status")?,
        version: row.count("version")?,
    })
}
