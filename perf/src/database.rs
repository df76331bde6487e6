//! Connections to the database of what is measured.

use localpg::{Options, Server};
use tokio_postgres::{Client, NoTls};

use crate::{Failure, usage};

/// The name of the database; there is one at a time.
const NAME: &str = "measured";

/// One PostgreSQL for all that are measured in turn.
pub(crate) struct Database {
    /// Of a database that is always there.
    url: String,
    /// None where the server is somebody else's.
    own: Option<(Server, tempfile::TempDir)>,
}

impl Database {
    /// A server with the settings that `switchboard cluster` gives it; its data is gone when it stops.
    pub(crate) async fn start() -> Result<Self, Failure> {
        eprintln!("starting PostgreSQL ...");
        let data = tempfile::tempdir()?;
        let server = Server::start(Options::durable(data.path().join("postgres"))).await?;
        Ok(Self { url: server.url(), own: Some((server, data)) })
    }

    /// The server of somebody who lets others use it, too.
    pub(crate) fn beside(url: &str) -> Self {
        Self { url: url.to_owned(), own: None }
    }

    /// A new database in the place of that of whoever was measured before.
    pub(crate) async fn renewed(&self) -> Result<String, Failure> {
        let (client, _driving) = connect(&self.url).await?;
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")).await?;
        client.batch_execute("CHECKPOINT").await?;
        client.batch_execute(&format!("CREATE DATABASE {NAME}")).await?;
        let (server, _) = self.url.rsplit_once('/').ok_or("the address names no database")?;
        Ok(format!("{server}/{NAME}"))
    }

    /// Its processes.
    pub(crate) async fn process(&self) -> Result<usage::Counted, Failure> {
        let (client, _driving) = connect(&self.url).await?;
        Ok(usage::Counted::family("postgres", postmaster(&client).await?))
    }

    pub(crate) async fn stop(self) -> Result<(), Failure> {
        match self.own {
            Some((mut server, _data)) => Ok(server.stop().await?),
            None => Ok(()),
        }
    }
}

/// Drives a connection until it is dropped.
pub(crate) struct Driving(tokio::task::JoinHandle<()>);

impl Drop for Driving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection of its own.
pub(crate) async fn connect(url: &str) -> Result<(Client, Driving), Failure> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driving = tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("perf: a connection broke: {error}");
        }
    });
    Ok((client, Driving(driving)))
}

/// The process on this machine that all processes of the server are children of.
pub(crate) async fn postmaster(client: &Client) -> Result<u32, Failure> {
    let row = client.query_one(include_str!("../sql/own/backend.sql"), &[]).await?;
    usage::parent(u32::try_from(row.try_get::<_, i32>(0)?)?)
}
