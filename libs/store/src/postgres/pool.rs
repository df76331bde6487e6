//! The pool, and the sessions it lends.
//!
//! A connection goes back to the pool only when every exchange on it was completed and no transaction is open; nothing in
//! this module changes a session's settings. So there is nothing to reset, no round trip is paid
//! for it, and prepared statements stay.
//!
//! | the session is dropped while | then |
//! |---|---|
//! | nothing is under way | the connection goes back |
//! | a statement runs, or a transaction is open (its caller went away) | it is [settled](abandoned), and goes back; what takes long is cancelled, and its connection closed |
//! | an error said that the server is lost or no longer the primary | the connection is closed |
//! | the server said nothing for longer than any statement may take | the connection is closed, and all idle ones with it |
//!
//! The last one is a network that forgot the connections without telling anybody: the server's own
//! timeouts do not reach us there. A connection that was idle for a while has to answer before it is lent.

mod abandoned;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    ClientWrapper, Connect, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, QueueMode,
    RecyclingMethod, Runtime,
};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error};

use crate::error::StoreError;
use crate::postgres::connect::Connector;
use crate::postgres::metrics::Metrics;
use crate::postgres::pool::abandoned::{Abandoned, Settler};
use crate::postgres::settings::DatabaseSettings;
use crate::postgres::sqlstate::{self, Fault};

/// How long a transaction may wait for its client: only a node that hangs does.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(10);
/// How much longer than `database.statement_timeout` an exchange may take: the server ends a statement by itself, and its
/// answer needs a moment.
const GRACE: Duration = Duration::from_secs(2);
/// Idle for longer, a connection is asked whether it lives before it is lent.
const TRUSTED_FOR: Duration = Duration::from_secs(1);
/// How long it may take to say so.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// Lends sessions.
pub(super) struct Lender {
    pool: Pool,
    shared: Arc<Shared>,
}

struct Shared {
    distrust: Arc<Distrust>,
    patience: Duration,
    metrics: Metrics,
    settler: Settler,
}

impl Lender {
    pub(super) fn new(
        settings: &DatabaseSettings,
        connector: &Connector,
        metrics: Metrics,
    ) -> Result<Self, StoreError> {
        let connector = as_lent(connector.clone(), settings);
        let manager = Manager::from_connect(
            connector.config().clone(),
            Opener(connector.clone()),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let distrust = Arc::new(Distrust::default());
        let judge = Arc::clone(&distrust);
        let pool = Pool::builder(manager)
            .pre_recycle(Hook::async_fn(move |client: &mut ClientWrapper, metrics| {
                let (judge, last_used) = (Arc::clone(&judge), metrics.last_used());
                Box::pin(async move { judge.judge(client, last_used).await })
            }))
            .max_size(settings.pool_size)
            .wait_timeout(Some(settings.pool_wait))
            .create_timeout(Some(settings.connect_timeout))
            // The connection used last has its statements prepared and its caches warm.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Internal(format!("the pool can't be built: {error}")))?;
        let settler = Settler::start(connector, settings.connect_timeout);
        let patience = settings.statement_timeout.saturating_add(GRACE);
        Ok(Self { pool, shared: Arc::new(Shared { distrust, patience, metrics, settler }) })
    }

    /// A session, once a connection is free.
    pub(super) async fn session(&self) -> Result<Session, StoreError> {
        let asked = Instant::now();
        let object = self.pool.get().await;
        self.shared.metrics.pool_wait(asked.elapsed());
        let object = object.map_err(|error| match error {
            // What the server said, not that there was something.
            PoolError::Backend(error) => sqlstate::connect_error(&error),
            other => StoreError::Unavailable(format!("no connection: {other}")),
        })?;
        Ok(Session {
            object: Some(object),
            under_way: AtomicU32::new(0),
            in_transaction: AtomicBool::new(false),
            spoiled: AtomicBool::new(false),
            shared: self.shared.clone(),
        })
    }
}

/// Opens connections as the pool has them: whoever looks whether nodes can work asks for the same.
pub(super) fn as_lent(connector: Connector, settings: &DatabaseSettings) -> Connector {
    let millis = |duration: Duration| format!("{}ms", duration.as_millis());
    connector
        .with_session_setting("statement_timeout", &millis(settings.statement_timeout))
        .with_session_setting("lock_timeout", &millis(settings.statement_timeout / 2))
        .with_session_setting("idle_in_transaction_session_timeout", &millis(IDLE_IN_TRANSACTION))
        .with_session_setting("default_transaction_isolation", "read committed")
}

/// The moment before which connections count as lost.
#[derive(Default)]
struct Distrust(Mutex<Option<Instant>>);

impl Distrust {
    /// What waits in the pool went the same way as one that no longer answers.
    fn all_idle(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    fn covers(&self, last_used: Duration) -> bool {
        self.0.lock().is_some_and(|before| before.elapsed() < last_used)
    }

    /// Whether a connection may be lent again that was lent last so long ago.
    async fn judge(&self, client: &ClientWrapper, last_used: Duration) -> Result<(), HookError> {
        if self.covers(last_used) {
            return Err(HookError::message("lost with another one"));
        }
        if last_used < TRUSTED_FOR {
            return Ok(());
        }
        match tokio::time::timeout(SIGN_OF_LIFE, client.simple_query("")).await {
            Ok(Ok(_)) => Ok(()),
            _ => {
                self.all_idle();
                Err(HookError::message("no sign of life"))
            }
        }
    }
}

struct Opener(Connector);

impl Connect for Opener {
    fn connect(&self, _: &tokio_postgres::Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(async {
            let (client, connection) = self.0.open().await?;
            // The handle is kept beside the client and aborted with it.
            let driver = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::warn!(%error, "a connection to the database broke");
                }
            });
            Ok((client, driver))
        })
    }
}

/// A connection lent by the pool; see the table in this module's head for its end.
pub(super) struct Session {
    /// None only while it is dropped.
    object: Option<Object>,
    under_way: AtomicU32,
    in_transaction: AtomicBool,
    spoiled: AtomicBool,
    shared: Arc<Shared>,
}

impl Session {
    pub(super) fn client(&self) -> Result<&ClientWrapper, Fault> {
        self.object.as_deref().ok_or_else(|| Fault::internal("a session without connection"))
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Runs one exchange with the server. When the future is dropped before its end, the session knows. One that takes
    /// longer than any statement may is given up: nobody is there any more.
    pub(super) async fn exchange<T>(&self, exchange: impl Future<Output = T>) -> Result<T, Fault> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let outcome = tokio::time::timeout(self.shared.patience, exchange).await;
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        outcome.map_err(|_| {
            self.spoil();
            self.shared.distrust.all_idle();
            StoreError::Unavailable(format!("no answer within {:?}", self.shared.patience)).into()
        })
    }

    /// Notes that a transaction was opened or closed.
    pub(super) fn set_in_transaction(&self, open: bool) {
        self.in_transaction.store(open, Ordering::Relaxed);
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    /// The connection is not to be used by anybody after this.
    pub(super) fn spoil(&self) {
        self.spoiled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(object) = self.object.take() else { return };
        let under_way = *self.under_way.get_mut() > 0;
        let in_transaction = *self.in_transaction.get_mut();
        if *self.spoiled.get_mut() {
            drop(Object::take(object));
        } else if under_way || in_transaction {
            self.shared.metrics.abandoned();
            self.shared.settler.settle(Abandoned { object, in_transaction });
        }
        // Otherwise the object's own drop gives it back.
    }
}
