//! The node: everything that roles share, and the tasks that keep it going.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use auth::{AuthError, Identity};
use cluster::{Connect, Listener, ListenerState, Notifier, Receiver, Session};
use domain::{AuthSessionId, Invalid, NodeId};
use operations::{Announcer, Operations, OperationsMetrics, OperationsSettings, PresenceRules, combiner};
use process::health::Health;
use process::metrics::Metrics;
use process::supervise::{Failure, Phase, Supervisor};
use prometheus::{IntGaugeVec, Opts};
use protocol::notify::{Entry, Kind};
use realtime::{HintTask, Hub, MemoryView, PresenceView, RealtimeMetrics, Relay, TableView};
use store::nodes::NodeInfo;
use store::postgres::Connector;
use store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::database::{NoDatabase, open_store};
use crate::settings::{ClusterMode, Settings};

/// The release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a node is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleName {
    /// REST and SSE.
    Api,
    /// WebSockets.
    Gateway,
    /// Housekeeping.
    Worker,
    /// Everything in one process.
    All,
}

impl RoleName {
    /// The name in logs, metrics and the table of nodes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Gateway => "gateway",
            Self::Worker => "worker",
            Self::All => "all",
        }
    }
}

/// Why a node could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The database can't be used.
    #[error(transparent)]
    Database(#[from] NoDatabase),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Keys or settings of sign-ins.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// A setting that can't work.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A metric was registered twice.
    #[error("metrics: {0}")]
    Metrics(String),
    /// A listener could not be opened.
    #[error("{key}: can't listen on {address}: {error}")]
    Listen {
        /// The setting that says where.
        key: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
}

impl BuildError {
    /// What the process ends with: 2 for settings that can't work, 1 for everything else.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Invalid(_)
            | Self::Auth(AuthError::Invalid(_) | AuthError::Store(StoreError::Settings(_)))
            | Self::Store(StoreError::Settings(_))
            | Self::Database(NoDatabase::Other(StoreError::Settings(_))) => 2,
            _ => 1,
        }
    }
}

impl From<prometheus::Error> for BuildError {
    fn from(error: prometheus::Error) -> Self {
        Self::Metrics(error.to_string())
    }
}

/// The part of a process that all its roles share.
pub struct Node {
    /// What this node says of itself.
    pub info: NodeInfo,
    /// Everything that is kept.
    pub store: Arc<dyn Store>,
    /// Live connections.
    pub hub: Arc<Hub>,
    /// Keeps the hub up with the log.
    pub relay: Arc<Relay>,
    /// Tells other nodes.
    pub notifier: Notifier,
    /// What the product does.
    pub operations: Operations,
    /// Who is where, on all nodes.
    pub presence_view: Arc<dyn PresenceView>,
    /// Readiness.
    pub health: Health,
    /// Numbers.
    pub metrics: Metrics,
    /// Counters of the hub.
    pub realtime: RealtimeMetrics,
    /// `switchboard_connections{role,kind}`.
    pub connections: IntGaugeVec,
    /// Owner of every task.
    pub supervisor: Supervisor,
    receiver: Arc<NodeReceiver>,
    heartbeat_interval: Duration,
    sweep_interval: Duration,
}

impl Node {
    /// Connects to the database, builds what roles share, and starts the tasks that keep it going.
    ///
    /// # Errors
    ///
    /// See [`BuildError`].
    pub async fn build(settings: &Settings, info: NodeInfo) -> Result<Self, BuildError> {
        settings.listener.validate()?;
        settings.notifier.validate()?;
        let metrics =
            Metrics::new(&info.role, &info.version).map_err(|e| BuildError::Metrics(e.to_string()))?;
        let registry = metrics.registry();
        let connections = IntGaugeVec::new(
            Opts::new("switchboard_connections", "Live connections by role and kind"),
            &["role", "kind"],
        )?;
        registry.register(Box::new(connections.clone()))?;
        let store = open_store(settings, registry).await?;
        let realtime = RealtimeMetrics::register(registry)?;
        let hub = Hub::new(settings.relay.shards, settings.relay.recent, realtime.clone());
        let relay =
            Relay::new(Arc::clone(&hub), Arc::clone(&store), settings.relay.sweep_interval, realtime.clone());
        let supervisor = Supervisor::new(settings.shutdown.clone());
        let health = Health::new();
        let receiver = Arc::new(NodeReceiver {
            relay: Arc::clone(&relay),
            identity: OnceLock::new(),
            operations: OnceLock::new(),
        });
        let notifier = match settings.cluster.mode {
            ClusterMode::Single => Notifier::alone(),
            ClusterMode::Multi => channel(settings, info.id, &metrics, &supervisor, &health, &receiver)?,
        };
        let announcer = Announcer::new(Arc::clone(&hub), Arc::new(notifier.clone()));
        let (combiner, combining) = combiner::new(
            Arc::clone(&store),
            announcer.clone(),
            &settings.append,
            OperationsMetrics::register(registry)?,
        );
        let operations = Operations::new(
            Arc::clone(&store),
            announcer,
            combiner,
            OperationsSettings {
                messages: settings.messages.clone(),
                agents: settings.agents.clone(),
                typing_min_interval: settings.sync.typing_min_interval,
                runs: settings.runs.clone(),
                tools: settings.tools.clone(),
                commands: settings.commands.clone(),
                tasks: settings.tasks.clone(),
                outbound: settings.outbound.clone(),
                presence: PresenceRules {
                    flush_interval: settings.cluster.presence_flush_interval,
                    ttl: settings.cluster.presence_ttl,
                    resume_window: settings.sync.resume_window,
                    max_changes: settings.presence.max_changes_per_flush,
                },
            },
        );
        // There is one for each node; a second would be the same.
        drop(receiver.operations.set(operations.clone()));
        let presence_view: Arc<dyn PresenceView> = match settings.cluster.mode {
            ClusterMode::Single => Arc::new(MemoryView::new(Arc::clone(&hub), settings.sync.resume_window)),
            ClusterMode::Multi => Arc::new(TableView::new(Arc::clone(&store), settings.cluster.presence_ttl)),
        };
        let node = Self {
            info,
            store,
            hub,
            relay,
            notifier,
            operations,
            presence_view,
            health,
            metrics,
            realtime,
            connections,
            supervisor,
            receiver,
            heartbeat_interval: settings.cluster.heartbeat_interval,
            sweep_interval: settings.relay.sweep_interval,
        };
        node.start(combining, settings.presence.max_room_members);
        Ok(node)
    }

    fn start(&self, combining: combiner::CombinerTask, max_room_members: u32) {
        let bus = self.supervisor.at(Phase::Bus);
        for shard in 0..self.hub.shard_count() {
            bus.critical(format!("relay {shard}"), Arc::clone(&self.relay).run_shard(shard, bus.token()));
        }
        bus.critical("sweep", Arc::clone(&self.relay).run_sweep(bus.token()));
        bus.critical("relay of runs", Arc::clone(&self.relay).run_boxes(bus.token()));
        bus.critical("relay of agents", Arc::clone(&self.relay).run_agents(bus.token()));
        let people = Arc::clone(&self.relay).run_people(max_room_members, bus.token());
        bus.critical("relay of people", people);
        let hints = HintTask::new(Arc::clone(&self.hub), Arc::clone(&self.store), self.info.id);
        bus.critical("hints", hints.run(self.sweep_interval, bus.token()));
        bus.critical("questions", self.operations.clone().put_questions(bus.token()));
        // Sends of connections that drain are still committed; then it is the combiner's turn.
        let handover = self.supervisor.at(Phase::Handover);
        handover.critical("combiner", combining.run(handover.token()));
        handover.critical("flusher of runs", self.operations.flushing().run(handover.token()));
        handover.critical("consumers", self.operations.clone().keep_consumers(handover.token()));
        let store = Arc::clone(&self.store);
        self.health.add_check("database", move || {
            let store = Arc::clone(&store);
            async move { store.ping().await.map_err(|error| error.public_message()) }
        });
    }

    /// Serves health and metrics.
    pub fn serve_admin(&self, listener: TcpListener) {
        let admin = self.supervisor.at(Phase::Admin);
        let server = process::admin::server(listener, self.health.clone(), self.metrics.clone());
        admin.critical("admin listener", server.run(admin.token(), Duration::from_secs(1)));
    }

    /// Serves HTTP. Nothing new is accepted once the node stops; requests and streams under way end in the drain.
    pub fn serve_http(&self, name: &'static str, server: process::http::Server, deadline: Duration) {
        let drain = self.supervisor.at(Phase::Drain);
        let (closing, drained) = (self.supervisor.token(Phase::Intake), drain.token());
        let server = server.leaving(self.supervisor.leaving());
        drain.critical(name, async move {
            server.run(closing, deadline).await;
            drained.cancelled().await;
        });
    }

    /// Sends live connections away in the drain, over `spread`.
    pub fn drain_connections(&self, spread: Duration) {
        let drain = self.supervisor.at(Phase::Drain);
        let (hub, token) = (Arc::clone(&self.hub), drain.token());
        drain.critical("connection drain", async move {
            token.cancelled().await;
            hub.drain(spread).await;
        });
    }

    /// Runs until `stop` resolves or a task that never may end does; then stops everything in order.
    ///
    /// # Errors
    ///
    /// The task that ended, with its name.
    pub async fn run(self, stop: impl Future) -> Result<(), Failure> {
        // From now on others see it. A node that could not be built never comes here and leaves no row.
        let handover = self.supervisor.at(Phase::Handover);
        let (store, info) = (Arc::clone(&self.store), self.info.clone());
        handover.critical("heartbeat", heartbeat(store, info, self.heartbeat_interval, handover.token()));
        let health = self.health.clone();
        self.supervisor.run_until(stop, &health).await
    }

    pub(crate) fn hear_identity(&self, identity: &Arc<Identity>) {
        // There is one identity for each node; a second would be the same.
        drop(self.receiver.identity.set(Arc::clone(identity)));
    }
}

/// What a node says of itself, by its role and where it listens.
#[must_use]
pub fn describe(settings: &Settings, role: RoleName, id: NodeId, listens: &str) -> NodeInfo {
    let name = match settings.cluster.node_name.as_str() {
        "" => format!("{} {listens}", role.as_str()),
        name => name.to_owned(),
    };
    NodeInfo { id, role: role.as_str().into(), version: VERSION.into(), name }
}

/// Opens a listener where the setting `key` says.
///
/// # Errors
///
/// The address is taken or not this machine's; says so with the setting's name.
pub async fn bind(key: &'static str, address: SocketAddr) -> Result<TcpListener, BuildError> {
    TcpListener::bind(address).await.map_err(|error| BuildError::Listen { key, address, error })
}

fn channel(
    settings: &Settings,
    node: NodeId,
    metrics: &Metrics,
    supervisor: &Supervisor,
    health: &Health,
    receiver: &Arc<NodeReceiver>,
) -> Result<Notifier, BuildError> {
    let counters = cluster::Metrics::register(metrics.registry())
        .map_err(|error| BuildError::Metrics(error.to_string()))?;
    let bus = supervisor.at(Phase::Bus);
    let connector = |purpose| connector(settings, purpose);
    let (notifier, sending) =
        Notifier::new(connector("notifier")?, node, settings.notifier.clone(), counters.clone());
    bus.critical("notifier", sending.run(bus.token()));
    let hearing: Arc<dyn Receiver> = Arc::clone(receiver) as _;
    let listener = Listener::new(connector("listener")?, node, settings.listener.clone(), hearing, counters);
    let state = listener.state();
    health.add_check("listener", move || {
        let state = state.borrow().clone();
        async move {
            match state {
                ListenerState::Connected => Ok(()),
                ListenerState::Away(reason) => Err(reason),
            }
        }
    });
    bus.critical("listener", listener.run(bus.token()));
    Ok(notifier)
}

/// Connections for the channel, of the same database as the store's.
///
/// # Errors
///
/// The URL is not good.
pub fn connector(settings: &Settings, purpose: &str) -> Result<Arc<dyn Connect>, BuildError> {
    let connector = Connector::new(&settings.database, purpose)?;
    Ok(Arc::new(move || {
        let connector = connector.clone();
        async move {
            let (client, connection) = connector.connect().await?;
            Ok(Session::new(client, connection))
        }
    }))
}

async fn heartbeat(store: Arc<dyn Store>, info: NodeInfo, interval: Duration, stop: CancellationToken) {
    loop {
        if let Err(error) = store.beat(&info).await {
            tracing::warn!(%error, "can't write the heartbeat");
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = stop.cancelled() => break,
        }
    }
    if let Err(error) = store.leave(info.id).await {
        tracing::info!(%error, "the node's row stays until retention removes it");
    }
}

/// What this node does with notifications.
struct NodeReceiver {
    relay: Arc<Relay>,
    identity: OnceLock<Arc<Identity>>,
    operations: OnceLock<Operations>,
}

impl Receiver for NodeReceiver {
    fn entry(&self, entry: Entry) {
        if entry.kind == Kind::SessionRevoked
            && let (Some(identity), Some(session)) = (self.identity.get(), entry.id.one())
        {
            identity.revocations().insert(AuthSessionId(session));
        }
        if entry.kind == Kind::KeyRotated
            && let Some(identity) = self.identity.get()
        {
            identity.keys().read_soon();
        }
        self.relay.notified(&entry);
        if let Some(operations) = self.operations.get() {
            operations.notified(&entry);
        }
    }

    fn connected(&self) {
        self.relay.sweep_soon();
        if let Some(operations) = self.operations.get() {
            operations.heard_again();
        }
        if let Some(identity) = self.identity.get() {
            identity.revocations().ask_soon();
            identity.keys().read_soon();
        }
    }

    fn disconnected(&self) {}
}
