//! Connections whose caller went away in the middle: a socket that closed while its send was under way, a request that
//! ran out of time.
//!
//! A new connection costs the server a process and both sides a handshake, and clients go away by the thousand at once.
//! So the connection is kept when it is free again at once, as it mostly is: answers come in the order of sending, so one
//! more exchange is answered when all before it is over. What takes longer is cancelled. A cancellation that arrives late would hit
//! whatever runs then, so after it the connection is closed.

use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::postgres::connect::Connector;

/// How long what was left behind may go on.
const MOMENT: Duration = Duration::from_millis(100);
/// Connections that wait to be settled. Those beyond are closed; their statements end by their timeout.
const WAITING: usize = 64;

/// A connection with something left on it.
pub(super) struct Abandoned {
    pub(super) object: Object,
    /// Whether a transaction may be open.
    pub(super) in_transaction: bool,
}

/// Looks after abandoned connections until it is dropped.
pub(super) struct Settler {
    queue: mpsc::Sender<Abandoned>,
    task: JoinHandle<()>,
}

impl Settler {
    /// Cancellations go out by `connector`, each within `connect_timeout`.
    pub(super) fn start(connector: Connector, connect_timeout: Duration) -> Self {
        let (queue, mut waiting) = mpsc::channel(WAITING);
        let task = tokio::spawn(async move {
            let mut settling = JoinSet::new();
            while let Some(abandoned) = waiting.recv().await {
                settling.spawn(settle(abandoned, connector.clone(), connect_timeout));
                while settling.try_join_next().is_some() {}
            }
        });
        Self { queue, task }
    }

    pub(super) fn settle(&self, abandoned: Abandoned) {
        if let Err(
            mpsc::error::TrySendError::Full(abandoned) | mpsc::error::TrySendError::Closed(abandoned),
        ) = self.queue.try_send(abandoned)
        {
            drop(Object::take(abandoned.object));
        }
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn settle(Abandoned { object, in_transaction }: Abandoned, connector: Connector, patience: Duration) {
    // Of a transaction that its own COMMIT ends first, ROLLBACK finds nothing, which the server only remarks upon.
    let last = if in_transaction { "ROLLBACK" } else { "" };
    let settled = tokio::time::timeout(MOMENT, object.batch_execute(last)).await;
    if matches!(settled, Ok(Ok(()))) {
        return; // its drop gives it back
    }
    let connection = Object::take(object);
    if settled.is_err() {
        let token = connection.cancel_token();
        match tokio::time::timeout(patience, token.cancel_query(connector.tls())).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "an abandoned statement could not be cancelled"),
            Err(_) => tracing::debug!("cancelling an abandoned statement took too long"),
        }
    }
    // Kept until here, so that the server can't have given its process to somebody else before it was cancelled.
    drop(connection);
}
