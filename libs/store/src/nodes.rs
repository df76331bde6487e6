//! Nodes: heartbeats as rows.

use async_trait::async_trait;
use domain::NodeId;
use jiff::Timestamp;

use crate::error::StoreError;

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// One process, one start.
    pub id: NodeId,
    /// `api`, `gateway`, `worker` or `all`.
    pub role: String,
    /// Release it runs.
    pub version: String,
    /// What people call it (host name and listen address); nobody dials it.
    pub name: String,
}

/// A node as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// What it said of itself.
    pub info: NodeInfo,
    /// When it came.
    pub started_at: Timestamp,
    /// Its last heartbeat, by the database's clock.
    pub seen_at: Timestamp,
    /// How long that is ago, by the database's clock.
    pub silent_for: std::time::Duration,
}

/// Nodes.
#[async_trait]
pub trait Nodes {
    /// Writes a heartbeat.
    async fn beat(&self, node: &NodeInfo) -> Result<(), StoreError>;

    /// A clean stop: removes the row.
    async fn leave(&self, node: NodeId) -> Result<(), StoreError>;

    /// All rows, by role and start.
    async fn nodes(&self) -> Result<Vec<NodeRow>, StoreError>;

    /// Answers when the database does.
    async fn ping(&self) -> Result<(), StoreError>;
}
