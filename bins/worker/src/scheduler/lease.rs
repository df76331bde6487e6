//! A worker's hold on the runs it has claimed.
//!
//! The lease is good by the database's clock for `scheduler.lease` from when it was written there, which is after we asked. So from when we
//! asked, by our own monotonic clock, it is good for at least as long; a part of that is kept back for stopping what is under
//! way. No clocks are compared.

use std::sync::Arc;
use std::time::Duration;

use domain::{NodeId, WorkerSessionId};
use store::{Store, StoreError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

/// A lease, renewed until it is dropped or can't be.
pub(super) struct Lease {
    session: WorkerSessionId,
    turn: i64,
    over: CancellationToken,
    renewing: JoinHandle<()>,
}

impl Lease {
    /// Begins a session.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub(super) async fn begin(
        store: Arc<dyn Store>,
        node: NodeId,
        lease: Duration,
    ) -> Result<Self, StoreError> {
        let session = WorkerSessionId::new();
        let asked = Instant::now();
        let turn = store.open_worker(session, node, lease).await?;
        let over = CancellationToken::new();
        let renewing = tokio::spawn(renew(store, session, lease, asked, over.clone()));
        Ok(Self { session, turn, over, renewing })
    }

    /// The session.
    pub(super) const fn session(&self) -> WorkerSessionId {
        self.session
    }

    /// How far the line had come when the session began.
    pub(super) const fn turn(&self) -> i64 {
        self.turn
    }

    /// Cancelled when the lease is over, or nearly so.
    pub(super) const fn over(&self) -> &CancellationToken {
        &self.over
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Renews three times within a lease. Stops when the session is over, or when a fifth of the lease is all that is left.
async fn renew(
    store: Arc<dyn Store>,
    session: WorkerSessionId,
    lease: Duration,
    mut asked: Instant,
    over: CancellationToken,
) {
    let _over = over.drop_guard();
    loop {
        let last = asked + lease * 4 / 5;
        let mut next = asked + lease / 3;
        loop {
            sleep_until(next.min(last)).await;
            let now = Instant::now();
            if now >= last {
                return;
            }
            match timeout_at(last, store.renew_worker(session, lease)).await {
                Ok(Ok(true)) => {
                    asked = now;
                    break;
                }
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "can't renew the lease on runs of tasks; trying again");
                    next = Instant::now() + lease / 20;
                }
            }
        }
    }
}
