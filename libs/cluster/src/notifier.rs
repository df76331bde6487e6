//! Tells other nodes that things have new versions.
//!
//! While a statement is on its way, new entries wait and coalesce; when it is answered, all that waits goes next. So an idle notifier sends at once. A
//! busy one, whose last statement told more than one thing, lets them wait until `notifier.min_interval` after it began that one: each statement wakes every
//! node of the cluster and its session in the database, so what is told in ten costs ten times as much as in one. Entries that were on
//! their way when something failed go back to the waiting ones: the others may hear them twice.

use std::sync::Arc;

use domain::NodeId;
use protocol::notify::{self, Entry, Id, Kind};
use tokio::time::{self, Instant};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::connect::{self, Connect, Session};
use crate::error::Error;
use crate::metrics::Metrics;
use crate::pending::Pending;
use crate::settings::NotifierSettings;

/// A handle to tell other nodes something; cheap to clone.
#[derive(Debug, Clone)]
pub struct Notifier {
    waiting: Option<Waiting>,
}

#[derive(Debug, Clone)]
struct Waiting {
    pending: Arc<Pending>,
    metrics: Metrics,
}

impl Notifier {
    /// A notifier and the task that sends for it, which the caller runs.
    pub fn new(
        connector: Arc<dyn Connect>,
        node: NodeId,
        settings: NotifierSettings,
        metrics: Metrics,
    ) -> (Self, NotifierTask) {
        let waiting = Waiting { pending: Arc::new(Pending::new(settings.max_pending)), metrics };
        let backoff = Backoff::new(settings.reconnect_max_delay);
        let task = NotifierTask {
            waiting: waiting.clone(),
            connector,
            node,
            settings,
            backoff,
            session: None,
            free: None,
        };
        (Self { waiting: Some(waiting) }, task)
    }

    /// For a node that is alone: whatever it is told, there is nobody to tell.
    #[must_use]
    pub const fn alone() -> Self {
        Self { waiting: None }
    }

    /// Tells other nodes that this thing has this version, soon. Never blocks: of several versions of a thing
    /// the highest is sent, and beyond `notifier.max_pending` waiting things new ones are dropped and counted.
    pub fn notify(&self, kind: Kind, id: impl Into<Id>, version: Option<u64>) {
        self.notify_all([(kind, id.into(), version)]);
    }

    /// The same for several things at once.
    pub fn notify_all(&self, things: impl IntoIterator<Item = (Kind, Id, Option<u64>)>) {
        if let Some(waiting) = &self.waiting {
            waiting.add(things.into_iter().map(|(kind, id, version)| ((kind, id), version)));
        }
    }

    /// How many entries wait to be sent.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.pending.len())
    }
}

impl Waiting {
    fn add(&self, entries: impl IntoIterator<Item = ((Kind, Id), Option<u64>)>) {
        let dropped = self.pending.add(entries);
        if dropped > 0 {
            self.metrics.dropped.inc_by(dropped);
        }
    }
}

/// Sends what a [`Notifier`] was told, on a connection of its own.
#[must_use = "a notifier sends only while its task runs"]
pub struct NotifierTask {
    waiting: Waiting,
    connector: Arc<dyn Connect>,
    node: NodeId,
    settings: NotifierSettings,
    backoff: Backoff,
    session: Option<Prepared>,
    /// When the next statement may be begun, for a busy notifier.
    free: Option<Instant>,
}

/// A session, and the statement by which it tells things: parsed and planned anew for each it would cost the database as much again.
struct Prepared {
    session: Session,
    notify: Statement,
}

impl NotifierTask {
    /// Sends until told to stop, then sends once more what is waiting, within `notifier.shutdown_timeout`.
    pub async fn run(mut self, stop: CancellationToken) {
        // Dropping the loop in the middle of a statement puts its entries back.
        stop.run_until_cancelled(Box::pin(self.send_for_ever())).await;
        let last = time::timeout(self.settings.shutdown_timeout, self.flush()).await;
        let reason = match last {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        let unsent = self.waiting.pending.len();
        if unsent > 0 {
            tracing::warn!(unsent, reason, "the notifier stopped before everything was sent");
        }
    }

    async fn send_for_ever(&mut self) {
        loop {
            let Err(error) = self.wait_and_flush().await else {
                self.backoff.reset();
                continue;
            };
            self.waiting.metrics.send_errors.inc();
            if !error.leaves_session() {
                self.session = None;
            }
            let pause = self.backoff.pause();
            tracing::warn!(%error, ?pause, waiting = self.waiting.pending.len(), "notifying failed, trying again");
            time::sleep(pause).await;
        }
    }

    /// Connects beforehand, so that the first entry does not wait for it, and notices a lost connection while idle.
    async fn wait_and_flush(&mut self) -> Result<(), Error> {
        let pending = Arc::clone(&self.waiting.pending);
        let free = self.free.take();
        let Prepared { session, .. } = self.open().await?;
        let due = async {
            pending.filled().await;
            if let Some(free) = free {
                time::sleep_until(free).await;
            }
        };
        tokio::select! {
            () = due => {}
            lost = async { loop { connect::next_notification(&mut session.messages).await?; } } => return lost,
        }
        self.flush().await
    }

    async fn open(&mut self) -> Result<&mut Prepared, Error> {
        let session = match self.session.take() {
            Some(session) => session,
            None => connect(&*self.connector, &self.settings).await?,
        };
        Ok(self.session.insert(session))
    }

    /// Sends all that is waiting now.
    async fn flush(&mut self) -> Result<(), Error> {
        let (entries, told) = self.waiting.pending.take(self.node);
        let mut batch = Batch { entries, waiting: self.waiting.clone() };
        self.free = (told > 1).then(|| Instant::now() + self.settings.min_interval);
        let (size, limit) = (self.settings.max_batch.max(1), self.settings.send_timeout);
        while !batch.entries.is_empty() {
            let part = batch.entries.len().saturating_sub(size)..;
            let payloads = notify::pack(&batch.entries[part.clone()]);
            let Prepared { session: Session { client, messages }, notify } = self.open().await?;
            connect::answer(messages, send(client, notify, &payloads), "NOTIFY", limit).await?;
            let sent = batch.entries.drain(part).len();
            self.waiting.metrics.sent.inc_by(sent as u64);
            self.waiting.metrics.batch_size.observe(sent as f64);
            let largest = payloads.iter().map(String::len).max().unwrap_or_default() as i64;
            let known = &self.waiting.metrics.largest_payload;
            known.set(known.get().max(largest));
        }
        Ok(())
    }
}

/// Entries on their way. Those that are not known to be sent when it is dropped go back to the waiting ones.
struct Batch {
    entries: Vec<Entry>,
    waiting: Waiting,
}

impl Drop for Batch {
    fn drop(&mut self) {
        let unsent = self.entries.drain(..);
        self.waiting.add(unsent.map(|entry| ((entry.kind, entry.id), entry.version)));
    }
}

async fn send(
    client: &Client,
    notify: &Statement,
    payloads: &Vec<String>,
) -> Result<(), tokio_postgres::Error> {
    client.query(notify, &[payloads]).await.map(drop)
}

async fn connect(connector: &dyn Connect, settings: &NotifierSettings) -> Result<Prepared, Error> {
    let Session { client, mut messages } = connect::open(connector, settings.connect_timeout).await?;
    let lock_timeout = settings.lock_timeout.as_millis().to_string();
    connect::answer(
        &mut messages,
        client.query_typed(include_str!("../sql/limit_lock_wait.sql"), &[(&lock_timeout, Type::TEXT)]),
        "the first statement of the notifier",
        settings.connect_timeout,
    )
    .await?;
    let notify = connect::answer(
        &mut messages,
        client.prepare_typed(include_str!("../sql/notify.sql"), &[Type::TEXT_ARRAY]),
        "the preparation of NOTIFY",
        settings.connect_timeout,
    )
    .await?;
    Ok(Prepared { session: Session { client, messages }, notify })
}
