//! What is done to the database while tasks are measured.

use tokio_postgres::Client;

use crate::Failure;
pub(super) use crate::database::{Database, Driving, connect};

/// Gives the planner its statistics and gets what was written out of the way of what is measured next.
pub(super) async fn settle(client: &Client) -> Result<(), Failure> {
    client.batch_execute("VACUUM (ANALYZE)").await?;
    Ok(client.batch_execute("CHECKPOINT").await?)
}

/// A transaction that was opened and left so: nothing that dies after it began is removed while it is there.
pub(super) struct Snapshot {
    client: Client,
    _driving: Driving,
}

impl Snapshot {
    pub(super) async fn hold(url: &str) -> Result<Self, Failure> {
        let (client, driving) = connect(url).await?;
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await?;
        client.batch_execute(include_str!("../../../sql/hold.sql")).await?;
        Ok(Self { client, _driving: driving })
    }

    pub(super) async fn release(self) -> Result<(), Failure> {
        Ok(self.client.batch_execute("COMMIT").await?)
    }
}
