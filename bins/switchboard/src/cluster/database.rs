//! The database of a local cluster: a private PostgreSQL, or one that was given.
//!
//! The private server has a task that owns it, as each node has an attendant, so that killing it and starting
//! it again hold nobody up.

use std::future::pending;
use std::path::Path;

use localpg::{Options, Server};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::control::Answer;
use super::error::ClusterError;

/// The database that the cluster's nodes share.
const NAME_OF_DATABASE: &str = "switchboard";

/// Connections that a node may open: its pool, notifier, listener, and what tries them.
const CONNECTIONS_OF_NODE: usize = 25;

/// An order that is answered when it is carried out.
#[derive(Debug)]
enum Order {
    Kill(oneshot::Sender<Answer>),
    Restart(oneshot::Sender<Answer>),
    Stop,
}

/// Where the cluster keeps everything.
#[derive(Debug)]
pub(super) struct Database {
    url: String,
    private: Option<Private>,
}

#[derive(Debug)]
struct Private {
    orders: mpsc::Sender<Order>,
    endings: mpsc::Receiver<String>,
    owner: JoinHandle<Result<(), localpg::Error>>,
}

impl Database {
    /// What the private server is called where nodes are named.
    pub(super) const NAME: &'static str = "postgres";

    /// One that somebody else runs.
    pub(super) const fn given(url: String) -> Self {
        Self { url, private: None }
    }

    /// Starts a private server in `dir` for this many nodes, with room for as many more.
    pub(super) async fn private(dir: &Path, nodes: usize) -> Result<Self, ClusterError> {
        let connections = 100 + nodes * 2 * CONNECTIONS_OF_NODE;
        let options = Options::durable(dir).setting("max_connections", connections.to_string());
        let server = Server::start(options).await?;
        let url = server.database(NAME_OF_DATABASE).await?;
        let (orders, inbox) = mpsc::channel(8);
        let (tell, endings) = mpsc::channel(8);
        let owner = tokio::spawn(own(server, inbox, tell));
        Ok(Self { url, private: Some(Private { orders, endings, owner }) })
    }

    /// How nodes reach it. Holds the password.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is the cluster's own server.
    pub(super) const fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Kills every process of the server, which stays down.
    pub(super) fn kill(&self, reply: oneshot::Sender<Answer>) {
        self.order(Order::Kill(reply));
    }

    /// Starts the server again at the same port, stopping it before if it runs.
    pub(super) fn restart(&self, reply: oneshot::Sender<Answer>) {
        self.order(Order::Restart(reply));
    }

    /// Resolves when the server ended by itself, with how.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(super) async fn ended(&mut self) -> String {
        match &mut self.private {
            Some(private) => match private.endings.recv().await {
                Some(how) => how,
                None => pending().await,
            },
            None => pending().await,
        }
    }

    /// Stops the server in order.
    pub(super) async fn stop(self) -> Result<(), ClusterError> {
        let Some(private) = self.private else { return Ok(()) };
        // The owner is at another order, or gone with an error that is told below.
        drop(private.orders.send(Order::Stop).await);
        match private.owner.await {
            Ok(stopped) => Ok(stopped?),
            Err(error) => Err(ClusterError::Io {
                what: "the task that owns PostgreSQL failed".to_owned(),
                source: std::io::Error::other(error),
            }),
        }
    }

    fn order(&self, order: Order) {
        // An order that finds no room is dropped, and its sender's answer with it, which tells whoever waits.
        if let Some(private) = &self.private {
            drop(private.orders.try_send(order));
        }
    }
}

async fn own(
    mut server: Server,
    mut orders: mpsc::Receiver<Order>,
    endings: mpsc::Sender<String>,
) -> Result<(), localpg::Error> {
    loop {
        let running = server.pid().is_some();
        let order = tokio::select! {
            status = server.ended(), if running => {
                let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                // Nobody reads any more: we are about to be told to stop.
                drop(endings.try_send(how));
                continue;
            }
            order = orders.recv() => order,
        };
        match order {
            Some(Order::Kill(reply)) => {
                let killed = server.kill().await.map(|()| "PostgreSQL is down".to_owned());
                drop(reply.send(killed.map_err(|error| error.to_string())));
            }
            Some(Order::Restart(reply)) => {
                let started = if running { server.restart().await } else { server.start_again().await };
                let started = started.map(|()| "PostgreSQL runs again".to_owned());
                drop(reply.send(started.map_err(|error| error.to_string())));
            }
            Some(Order::Stop) | None if running => return server.stop().await,
            Some(Order::Stop) | None => return Ok(()),
        }
    }
}
