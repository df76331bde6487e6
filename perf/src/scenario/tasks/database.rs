//! One PostgreSQL for all that are measured, each in a database of its own.

use localpg::{Options, Server};
use tokio_postgres::Client;

use crate::Failure;
pub(super) use crate::database::{Driving, connect};

/// The name of the database; there is one at a time.
const NAME: &str = "measured";

/// A server with the settings that `switchboard cluster` gives it; its data is gone when it stops.
pub(super) struct Database {
    server: Server,
    _data: tempfile::TempDir,
}

impl Database {
    pub(super) async fn start() -> Result<Self, Failure> {
        eprintln!("starting PostgreSQL ...");
        let data = tempfile::tempdir()?;
        let server = Server::start(Options::durable(data.path().join("postgres"))).await?;
        Ok(Self { server, _data: data })
    }

    /// A new database in the place of that of whoever was measured before.
    pub(super) async fn renewed(&self) -> Result<String, Failure> {
        let (client, _driving) = connect(&self.server.url()).await?;
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")).await?;
        client.batch_execute("CHECKPOINT").await?;
        Ok(self.server.database(NAME).await?)
    }

    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        Ok(self.server.stop().await?)
    }
}

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
