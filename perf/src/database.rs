//! Connections to the database of what is measured.

use tokio_postgres::{Client, NoTls};

use crate::{Failure, usage};

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
