//! Nodes: the [`Nodes`] of PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;
use domain::NodeId;
use tokio_postgres::Row;

use crate::error::StoreError;
use crate::nodes::{NodeInfo, NodeRow, Nodes};
use crate::postgres::Postgres;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;

statements! {
    BEAT = "nodes/beat";
    LEAVE = "nodes/leave";
    LIST = "nodes/list";
    PING = "nodes/ping";
}

#[async_trait]
impl Nodes for Postgres {
    async fn beat(&self, node: &NodeInfo) -> Result<(), StoreError> {
        self.rows(BEAT, &[&node.id.0, &node.role, &node.name, &node.version]).await.map(drop)
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.rows(LEAVE, &[&node.0]).await.map(drop)
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        Ok(self.rows(LIST, &[]).await?.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.rows(PING, &[]).await.map(drop)
    }
}

fn read(row: &Row) -> Result<NodeRow, Fault> {
    let silent: f64 = row.value("silent")?;
    Ok(NodeRow {
        info: NodeInfo {
            id: NodeId(row.value("id")?),
            role: row.value("role")?,
            version: row.value("version")?,
            name: row.value("name")?,
        },
        started_at: row.value("started_at")?,
        seen_at: row.value("seen_at")?,
        silent_for: Duration::try_from_secs_f64(silent).unwrap_or_default(),
    })
}
