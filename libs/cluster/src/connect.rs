//! Connections, which the caller knows how to make.

use std::pin::Pin;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{AsyncMessage, Client, Connection, Notification};

use crate::error::Error;

/// Why there is no connection. Its text goes into logs, so it must name no password.
pub type ConnectError = Box<dyn std::error::Error + Send + Sync>;

/// What the server says unasked. Polling it is also what drives the connection.
pub type Messages = Pin<Box<dyn Stream<Item = Result<AsyncMessage, tokio_postgres::Error>> + Send>>;

/// Makes connections for the channel: directly to the primary, no pooler between, with keepalives of about 10/3/3
/// seconds and a `tcp_user_timeout` of 10. Every closure that gives back such a future is one.
pub trait Connect: Send + Sync + 'static {
    /// A new connection. A timeout is put around it.
    fn connect(&self) -> BoxFuture<'_, Result<Session, ConnectError>>;
}

impl<F, T> Connect for F
where
    F: Fn() -> T + Send + Sync + 'static,
    T: Future<Output = Result<Session, ConnectError>> + Send + 'static,
{
    fn connect(&self) -> BoxFuture<'_, Result<Session, ConnectError>> {
        Box::pin(self())
    }
}

/// A connection that nobody else drives.
pub struct Session {
    /// Sends statements.
    pub client: Client,
    /// Drives the connection and gives out what the server says unasked.
    pub messages: Messages,
}

impl Session {
    /// From the two halves that `tokio_postgres` gives out.
    pub fn new<S, T>(client: Client, mut connection: Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self { client, messages: Box::pin(stream::poll_fn(move |cx| connection.poll_message(cx))) }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// Opens a session, or says why not in time.
pub(crate) async fn open(connector: &dyn Connect, limit: Duration) -> Result<Session, Error> {
    tokio::time::timeout(limit, connector.connect())
        .await
        .map_err(|_| Error::Timeout { what: "connecting", limit })?
        .map_err(Error::Connect)
}

/// The next notification, however much else the server says.
///
/// # Cancel safety
///
/// Nothing is lost: the state is in the connection.
pub(crate) async fn next_notification(messages: &mut Messages) -> Result<Notification, Error> {
    loop {
        match messages.next().await {
            Some(Ok(AsyncMessage::Notification(notification))) => return Ok(notification),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => return Err(Error::Closed),
        }
    }
}

/// Waits for the answer to a statement while driving its connection.
///
/// # Errors
///
/// What the server refuses, a broken connection, or `limit` passed.
pub(crate) async fn answer<T>(
    messages: &mut Messages,
    statement: impl Future<Output = Result<T, tokio_postgres::Error>>,
    what: &'static str,
    limit: Duration,
) -> Result<T, Error> {
    let driven = async {
        let mut statement = std::pin::pin!(statement);
        loop {
            tokio::select! {
                biased;
                answer = &mut statement => return answer.map_err(Error::from),
                heard = next_notification(messages) => drop(heard?),
            }
        }
    };
    tokio::time::timeout(limit, driven).await.map_err(|_| Error::Timeout { what, limit })?
}
