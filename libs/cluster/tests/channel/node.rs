//! A node of the channel, and what it hears.

use std::sync::Arc;
use std::time::Duration;

use cluster::{
    Connect, ConnectError, Listener, ListenerSettings, ListenerState, Metrics, Notifier, NotifierSettings,
    Receiver, Session,
};
use domain::NodeId;
use prometheus::Registry;
use protocol::notify::{Entry, Id, Kind};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_postgres::NoTls;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Far more than anything here takes; reached only when it never comes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn in_time<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{what} never came"))
}

pub(crate) async fn session(url: String) -> Result<Session, ConnectError> {
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    Ok(Session::new(client, connection))
}

pub(crate) fn connector(url: &str) -> Arc<dyn Connect> {
    let url = url.to_owned();
    Arc::new(move || session(url.clone()))
}

/// A client whose connection is driven by a task of its own, for what a test does by hand.
pub(crate) async fn by_hand(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the database answers");
    tokio::spawn(connection);
    client
}

/// Faults are noticed soon, but not so soon that a busy machine looks like one.
pub(crate) fn quick() -> ListenerSettings {
    ListenerSettings {
        check_interval: Duration::from_millis(300),
        check_timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_secs(2),
        reconnect_max_delay: Duration::from_millis(500),
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Entry(Entry),
    Connected,
    Disconnected,
}

struct Recorder(mpsc::UnboundedSender<Heard>);

impl Receiver for Recorder {
    fn entry(&self, entry: Entry) {
        drop(self.0.send(Heard::Entry(entry)));
    }

    fn connected(&self) {
        drop(self.0.send(Heard::Connected));
    }

    fn disconnected(&self) {
        drop(self.0.send(Heard::Disconnected));
    }
}

pub(crate) struct Ear {
    pub(crate) heard: mpsc::UnboundedReceiver<Heard>,
    pub(crate) state: watch::Receiver<ListenerState>,
    registry: Registry,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Ear {
    /// A listener that is not waited for.
    pub(crate) fn start(connector: Arc<dyn Connect>, node: NodeId, settings: ListenerSettings) -> Self {
        let (recorder, heard) = mpsc::unbounded_channel();
        let (registry, stop) = (Registry::new(), CancellationToken::new());
        let metrics = Metrics::register(&registry).expect("a fresh registry");
        let listener = Listener::new(connector, node, settings, Arc::new(Recorder(recorder)), metrics);
        let state = listener.state();
        let task = tokio::spawn(listener.run(stop.clone()));
        Self { heard, state, registry, stop, task }
    }

    /// A listener that hears others already.
    pub(crate) async fn up(connector: Arc<dyn Connect>, node: NodeId) -> Self {
        let mut ear = Self::start(connector, node, quick());
        ear.expect(Heard::Connected).await;
        ear
    }

    pub(crate) async fn next(&mut self) -> Heard {
        in_time("what is heard", self.heard.recv()).await.expect("the listener runs")
    }

    pub(crate) async fn expect(&mut self, what: Heard) {
        assert_eq!(self.next().await, what);
    }

    /// The next entry, without its node.
    pub(crate) async fn entry(&mut self) -> (Kind, Id, Option<u64>) {
        match self.next().await {
            Heard::Entry(entry) => (entry.kind, entry.id, entry.version),
            other => panic!("an entry was expected, not {other:?}"),
        }
    }

    /// Waits until the listener is away for a reason that has this in it.
    pub(crate) async fn until_away(&mut self, part: &str) {
        let away = |state: &ListenerState| matches!(state, ListenerState::Away(why) if why.contains(part));
        let found = in_time(part, async { self.state.wait_for(away).await.map(drop) }).await;
        found.unwrap_or_else(|_| panic!("the listener ended"));
    }

    pub(crate) fn metric(&self, name: &str) -> f64 {
        metric(&self.registry, name)
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        in_time("the end of the listener", self.task).await.expect("no panic");
        assert_eq!(*self.state.borrow(), ListenerState::Away("stopped".into()));
    }
}

pub(crate) struct Mouth {
    pub(crate) node: NodeId,
    pub(crate) notifier: Notifier,
    registry: Registry,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Mouth {
    pub(crate) fn start(connector: Arc<dyn Connect>, settings: NotifierSettings) -> Self {
        let (node, registry, stop) = (NodeId::new(), Registry::new(), CancellationToken::new());
        let metrics = Metrics::register(&registry).expect("a fresh registry");
        let (notifier, task) = Notifier::new(connector, node, settings, metrics);
        let task = tokio::spawn(task.run(stop.clone()));
        Self { node, notifier, registry, stop, task }
    }

    pub(crate) fn say(&self, n: u128, version: u64) {
        self.notifier.notify(Kind::Stream, Uuid::from_u128(n), Some(version));
    }

    pub(crate) fn metric(&self, name: &str) -> f64 {
        metric(&self.registry, name)
    }

    /// Waits until a metric is at least this. Metrics have no bell, so it is looked at again and again.
    pub(crate) async fn until(&self, name: &str, least: f64) {
        in_time(name, async {
            while self.metric(name) < least {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        in_time("the end of the notifier", self.task).await.expect("no panic");
    }
}

pub(crate) fn stream(n: u128, version: u64) -> (Kind, Id, Option<u64>) {
    (Kind::Stream, Uuid::from_u128(n).into(), Some(version))
}

/// A metric by name without the prefix: the sum over its labels; for a histogram how often it was observed.
fn metric(registry: &Registry, name: &str) -> f64 {
    let family = registry.gather().into_iter().find(|family| family.name() == format!("switchboard_{name}"));
    let values = family.iter().flat_map(prometheus::proto::MetricFamily::get_metric).map(|metric| {
        let counted = metric.get_histogram().get_sample_count() as f64;
        metric.get_counter().get_value() + metric.get_gauge().get_value() + counted
    });
    values.sum()
}
