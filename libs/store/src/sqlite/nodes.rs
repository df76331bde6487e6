//! Nodes: the [`Nodes`] of SQLite.

use std::time::Duration;

use async_trait::async_trait;
use domain::NodeId;
use rusqlite::Row;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use crate::error::StoreError;
use crate::nodes::{NodeInfo, NodeRow, Nodes};

statements! {
    BEAT = "nodes/beat";
    LEAVE = "nodes/leave";
    LIST = "nodes/list";
    PING = "nodes/ping";
}

#[async_trait]
impl Nodes for Sqlite {
    async fn beat(&self, node: &NodeInfo) -> Result<(), StoreError> {
        let node = node.clone();
        self.write(move |tx| {
            tx.execute(BEAT, &[&node.id.0, &node.role, &node.name, &node.version, &tx.micros()]).map(drop)
        })
        .await
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.write(move |tx| tx.execute(LEAVE, &[&node.0]).map(drop)).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        self.read(|tx| tx.rows(LIST, &[], |row| read(row, tx.micros()))).await
    }

    /// Written: a full disk is noticed by that alone.
    async fn ping(&self) -> Result<(), StoreError> {
        self.write(|tx| tx.execute(PING, &[]).map(drop)).await
    }
}

fn read(row: &Row<'_>, now: i64) -> Result<NodeRow, Fault> {
    let silent = now - row.value::<i64>("seen_at")?;
    Ok(NodeRow {
        info: NodeInfo {
            id: NodeId(row.value("id")?),
            role: row.value("role")?,
            version: row.value("version")?,
            name: row.value("name")?,
        },
        started_at: row.time("started_at")?,
        seen_at: row.time("seen_at")?,
        silent_for: Duration::from_micros(u64::try_from(silent).unwrap_or_default()),
    })
}
