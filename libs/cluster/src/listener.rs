//! Hears what other nodes say.
//!
//! ```text
//!            LISTEN, self-test           round trip fails, connection lost
//! [away] ------------------------> [up] ----------------------------------> [away], pause, again
//!            connected()                 disconnected()
//! ```
//!
//! The task only reads and hands over: a listener that does not read its socket, or sits in a transaction, pins
//! the notification queue of the whole PostgreSQL cluster. So it never waits for a [`Receiver`], never begins a
//! transaction, and its only statement after LISTEN is the round trip.
//!
//! The *round trip*, every `listener.check_interval`, is a NOTIFY to itself. Its answer and the notification must
//! both come within `listener.check_timeout`. It finds a half-open connection (which TCP alone notices after
//! hours), a server that hangs and a primary that became a standby, and it is the traffic that keeps middleboxes awake.
//!
//! The *self-test* after LISTEN is the same, but sent from a second connection which is then closed. What a session
//! says itself comes back with the answer, even through a pooler in transaction mode that will never pass on
//! what others say (tried with PgBouncer 1.18).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use domain::NodeId;
use protocol::notify::{self, Entry, Kind};
use tokio::sync::watch;
use tokio::time::{self, MissedTickBehavior};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Notification, Row};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::connect::{self, Connect, Messages, Session};
use crate::error::Error;
use crate::metrics::Metrics;
use crate::settings::ListenerSettings;

/// Takes what the listener hears. Called from the task that reads the socket: must not block, so it marks what
/// is dirty in a bounded, coalescing map of its own and wakes who works it off.
pub trait Receiver: Send + Sync + 'static {
    /// Another node says that a thing has a new version. Never an entry of this node, of an unknown kind, or a ping.
    /// May come before [`Receiver::connected`], while the connection is being tested.
    fn entry(&self, entry: Entry);

    /// From now on every entry is heard; what was said before may have been missed: compare versions now.
    fn connected(&self);

    /// Entries may be missed from now on. Called once for each [`Receiver::connected`].
    fn disconnected(&self);
}

/// Whether this node hears others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerState {
    /// It does.
    Connected,
    /// It does not, for this reason. The text names no secrets.
    Away(String),
}

/// Hears other nodes on a connection of its own.
pub struct Listener {
    connector: Arc<dyn Connect>,
    node: NodeId,
    settings: ListenerSettings,
    state: watch::Sender<ListenerState>,
    ears: Ears,
}

/// What is done with what is heard.
struct Ears {
    node: NodeId,
    receiver: Arc<dyn Receiver>,
    metrics: Metrics,
    /// The counter of the last ping that was sent, and of the last one that came back.
    pinged: u64,
    heard: u64,
}

impl Listener {
    /// A listener of this node.
    pub fn new(
        connector: Arc<dyn Connect>,
        node: NodeId,
        settings: ListenerSettings,
        receiver: Arc<dyn Receiver>,
        metrics: Metrics,
    ) -> Self {
        let state = watch::Sender::new(ListenerState::Away("not connected yet".to_owned()));
        let ears = Ears { node, receiver, metrics, pinged: 0, heard: 0 };
        Self { connector, node, settings, state, ears }
    }

    /// Tries once whether LISTEN works through this connector, for whoever looks into a configuration.
    ///
    /// # Errors
    ///
    /// What is in the way: no connection, a pooler in transaction mode, a standby.
    pub async fn probe(connector: Arc<dyn Connect>, settings: ListenerSettings) -> Result<(), Error> {
        let metrics = Metrics::register(&prometheus::Registry::new())?;
        let mut listener = Self::new(connector, NodeId::new(), settings, Arc::new(Nobody), metrics);
        Box::pin(listener.open()).await.map(drop)
    }

    /// Whether this node hears others, now and from now on.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<ListenerState> {
        self.state.subscribe()
    }

    /// Listens until told to stop, reconnecting as often as need be.
    pub async fn run(mut self, stop: CancellationToken) {
        // Never ready, and dropped in the middle: whatever state it was in is told below.
        stop.run_until_cancelled(Box::pin(self.listen_for_ever())).await;
        self.away("stopped".to_owned());
    }

    async fn listen_for_ever(&mut self) {
        let mut backoff = Backoff::new(self.settings.reconnect_max_delay);
        loop {
            let Err(error) = self.listen(&mut backoff).await;
            let pause = backoff.pause();
            if self.away(error.to_string()) {
                tracing::warn!(%error, ?pause, "other nodes are not heard, trying again");
            }
            time::sleep(pause).await;
        }
    }

    /// One connection, from its beginning to its end.
    async fn listen(&mut self, backoff: &mut Backoff) -> Result<Infallible, Error> {
        let Session { client, mut messages } = self.open().await?;
        backoff.reset();
        self.connected();
        let interval = self.settings.check_interval;
        let mut checks = time::interval_at(time::Instant::now() + interval, interval);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                heard = connect::next_notification(&mut messages) => self.ears.hear(&heard?),
                _ = checks.tick() => {
                    let ping = self.ears.next_ping();
                    self.round_trip(&mut messages, send_ping(&client, &ping)).await?;
                }
            }
        }
    }

    /// A session that listens and is known to hear.
    async fn open(&mut self) -> Result<Session, Error> {
        let ListenerSettings { check_timeout, connect_timeout, .. } = self.settings;
        let Session { client, mut messages } = connect::open(&*self.connector, connect_timeout).await?;
        let listen = client.batch_execute(include_str!("../sql/listen.sql"));
        connect::answer(&mut messages, listen, "LISTEN", check_timeout).await?;
        self.self_test(&mut messages).await?;
        Ok(Session { client, messages })
    }

    async fn self_test(&mut self, messages: &mut Messages) -> Result<(), Error> {
        let limit = self.settings.check_timeout;
        let mut other = connect::open(&*self.connector, self.settings.connect_timeout).await?;
        let ping = self.ears.next_ping();
        let from_other = connect::answer(
            &mut other.messages,
            send_ping(&other.client, &ping),
            "the self-test of the listener",
            limit,
        );
        self.round_trip(messages, from_other).await.map_err(|error| match error {
            Error::Late { limit } => Error::Unheard { limit },
            other => other,
        })
    }

    /// Waits for the answer to a ping and for the ping itself, handing over what else is heard meanwhile.
    async fn round_trip<E: Into<Error>>(
        &mut self,
        messages: &mut Messages,
        ping: impl Future<Output = Result<Row, E>>,
    ) -> Result<(), Error> {
        let (limit, started) = (self.settings.check_timeout, Instant::now());
        let mut deadline = std::pin::pin!(time::sleep(limit));
        let mut ping = std::pin::pin!(ping);
        let mut answered = false;
        while !(answered && self.ears.all_heard()) {
            tokio::select! {
                answer = &mut ping, if !answered => {
                    self.ears.metrics.queue_usage.set(answer.map_err(Into::into)?.try_get(0)?);
                    answered = true;
                }
                heard = connect::next_notification(messages) => self.ears.hear(&heard?),
                () = &mut deadline => {
                    return Err(if answered {
                        Error::Late { limit }
                    } else {
                        Error::Timeout { what: "the listener's round trip", limit }
                    });
                }
            }
        }
        self.ears.metrics.round_trip.observe(started.elapsed().as_secs_f64());
        Ok(())
    }

    fn connected(&self) {
        tracing::info!(node = %self.node, "other nodes are heard");
        self.ears.metrics.connected.set(1);
        self.state.send_replace(ListenerState::Connected);
        self.ears.receiver.connected();
    }

    /// Says whether that, or the reason, is new.
    fn away(&self, reason: String) -> bool {
        let away = ListenerState::Away(reason);
        let before = self.state.send_replace(away.clone());
        if before == ListenerState::Connected {
            self.ears.metrics.connected.set(0);
            self.ears.metrics.disconnects.inc();
            self.ears.receiver.disconnected();
        }
        before != away
    }
}

/// Takes what is heard during a probe.
struct Nobody;

impl Receiver for Nobody {
    fn entry(&self, _: Entry) {}
    fn connected(&self) {}
    fn disconnected(&self) {}
}

impl Ears {
    fn hear(&mut self, notification: &Notification) {
        for entry in notify::entries(notification.payload()) {
            match entry {
                Ok(entry) if entry.node == self.node.uuid() => {
                    if entry.kind == Kind::ListenerPing {
                        self.heard = self.heard.max(entry.version.unwrap_or(0));
                    }
                }
                Ok(Entry { kind: Kind::Unknown(kind), .. }) => {
                    self.metrics.unknown.inc();
                    tracing::debug!(
                        kind = kind.as_str(),
                        "an entry of a kind that this release does not know"
                    );
                }
                Ok(entry) => {
                    self.metrics.received.with_label_values(&[entry.kind.as_str()]).inc();
                    if entry.kind != Kind::ListenerPing {
                        self.receiver.entry(entry);
                    }
                }
                Err(error) => {
                    self.metrics.malformed.inc();
                    tracing::debug!(%error, "a piece of a payload is no entry");
                }
            }
        }
    }

    fn next_ping(&mut self) -> String {
        self.pinged += 1;
        let (node, version) = (self.node.uuid(), Some(self.pinged));
        Entry { kind: Kind::ListenerPing, id: node.into(), version, node }.to_string()
    }

    const fn all_heard(&self) -> bool {
        self.heard >= self.pinged
    }
}

async fn send_ping(client: &Client, ping: &String) -> Result<Row, tokio_postgres::Error> {
    client.query_typed_one(include_str!("../sql/ping.sql"), &[(ping, Type::TEXT)]).await
}
