//! What cases stand on: nodes with live connections, without sockets.

use std::sync::Arc;
use std::time::Duration;

use domain::{AuthSessionId, ConnectionId, DeviceId, DeviceKind, NodeId, PersonStatus, Role, RoomId, UserId};
use operations::{
    Announcer, Operations, OperationsMetrics, OperationsSettings, PresenceMetrics, PresenceRules,
    PresenceWriter, combiner,
};
use parking_lot::Mutex;
use prometheus::Registry;
use protocol::frame::Cursors;
use protocol::notify::{Id, Kind};
use protocol::{CloseCode, ServerFrame};
use realtime::{
    Announce, Begin, Body, CatchUp, Connection, ConnectionMeta, Fed, Feed, Focus, Hub, Limits, Opening,
    RealtimeMetrics, SessionLimits, Sessions,
};
use store::Store;
use store::accounts::NewUser;
use store::devices::NewDevice;
use store::postgres::{DatabaseSettings, Postgres, migrate, schema_digest};
use store::presence::PersonPresence;
use store::sessions::NewSession;
use testkit::postgres::TestDatabase;

/// How long rows live here.
pub(crate) const TTL: Duration = Duration::from_secs(3);

const HOUR: Duration = Duration::from_secs(3600);

/// A migrated database.
pub(crate) async fn database() -> TestDatabase {
    let migrated = |url| async move { migrate(&DatabaseSettings::with_url(url)).await.map(drop) };
    TestDatabase::from_template(&schema_digest(), migrated).await
}

/// What a node says to the others.
#[derive(Default)]
pub(crate) struct Said(Mutex<Vec<UserId>>);

impl Announce for Said {
    fn announce(&self, kind: Kind, id: Id, _version: Option<u64>) {
        if let (Kind::UserPresence, Some(user)) = (kind, id.one()) {
            self.0.lock().push(UserId(user));
        }
    }
}

impl Said {
    pub(crate) fn take(&self) -> Vec<UserId> {
        std::mem::take(&mut self.0.lock())
    }
}

/// A node with a writer of its own.
pub(crate) struct Stage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) operations: Operations,
    pub(crate) writer: PresenceWriter,
    pub(crate) said: Arc<Said>,
    sessions: Sessions,
    catchup: Arc<CatchUp>,
}

/// A live connection.
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    _feed: Feed,
}

impl Live {
    pub(crate) fn look(&self, room: Option<RoomId>, idle: bool) {
        self.connection.set_focus(Focus { room, idle });
    }
}

impl Stage {
    pub(crate) async fn at(url: &str, max_changes: u32) -> Self {
        let registry = Registry::new();
        let settings = DatabaseSettings::with_url(url);
        let store = Postgres::connect(&settings, &registry).await.expect("the database answers");
        let store: Arc<dyn Store> = Arc::new(store);
        let metrics = RealtimeMetrics::register(&registry).expect("metrics");
        let hub = Hub::new(2, 8, metrics);
        let said = Arc::new(Said::default());
        let announcer = Announcer::new(Arc::clone(&hub), Arc::clone(&said) as _);
        let counters = OperationsMetrics::register(&registry).expect("metrics");
        let append = operations::AppendSettings::default();
        let (combiner, _) = combiner::new(Arc::clone(&store), announcer.clone(), &append, counters);
        let rules = PresenceRules { flush_interval: TTL / 10, ttl: TTL, resume_window: HOUR, max_changes };
        let settings = OperationsSettings {
            messages: operations::MessageSettings::default(),
            agents: operations::AgentsSettings::default(),
            typing_min_interval: TTL,
            runs: operations::RunSettings::default(),
            tools: operations::ToolSettings::default(),
            commands: operations::CommandSettings::default(),
            tasks: operations::TasksSettings::default(),
            outbound: outbound::OutboundSettings::default(),
            presence: rules,
        };
        let operations = Operations::new(Arc::clone(&store), announcer, combiner, settings);
        let node = NodeId::new();
        let writer = operations.presence_writer(node, PresenceMetrics::register(&registry).expect("metrics"));
        let limits =
            SessionLimits { outbox: Limits { frames: 64, bytes: 1 << 20 }, at_once: 4, consumer_live: HOUR };
        let sessions =
            Sessions::new(Arc::clone(&hub), Arc::clone(&store), Arc::clone(&said) as _, node, limits);
        let catchup = CatchUp::new(Arc::clone(&hub), Arc::clone(&store), 4, 100, 200);
        Self { store, hub, operations, writer, said, sessions, catchup }
    }

    /// A new person, signed in.
    pub(crate) async fn person(&self) -> (UserId, AuthSessionId) {
        let (id, session) = (UserId::new(), AuthSessionId::new());
        let new = NewUser {
            id,
            handle: testkit::random::handle("p"),
            display_name: "Somebody".into(),
            role: Role::User,
            password_hash: String::new(),
        };
        self.store.create_user(&new).await.expect("a person");
        let mut refresh = [0; 32];
        refresh[..16].copy_from_slice(session.0.as_bytes());
        let new = NewSession { id: session, user: id, device: None, refresh, refresh_ttl: HOUR };
        self.store.open_session(&new).await.expect("a sign-in");
        (id, session)
    }

    pub(crate) async fn device(&self, user: UserId, kind: DeviceKind) -> DeviceId {
        let device = NewDevice { id: DeviceId::new(), kind, name: "one".into() };
        self.store.create_device(user, &device, None).await.expect("a device").id
    }

    /// A connection of a person's device, or without one, that has been told that it is live.
    pub(crate) async fn live(
        &self,
        (user, session): (UserId, AuthSessionId),
        device: Option<DeviceId>,
    ) -> Live {
        let (connection, mut feed) = self.begin((user, session), device).await;
        let mut batch = Vec::new();
        loop {
            let fed = feed.next(&mut batch).await;
            assert!(matches!(fed, Fed::Frames), "{fed:?}");
            if batch.iter().any(|frame| matches!(frame.body(), Body::Frame(ServerFrame::Live))) {
                return Live { connection, _feed: feed };
            }
        }
    }

    /// A connection that is not live yet.
    pub(crate) async fn begin(
        &self,
        (user, session): (UserId, AuthSessionId),
        device: Option<DeviceId>,
    ) -> (Arc<Connection>, Feed) {
        let meta = ConnectionMeta { id: ConnectionId::new(), principal: user.into(), session };
        let begin = device.map_or(Begin::Unslotted, Begin::Device);
        let opening = Opening { begin, cursors: Cursors::default(), log_epoch: None };
        let opened = self.sessions.open(meta, &opening).await.expect("a session");
        (Arc::clone(&opened.connection), Feed::new(opened, Arc::clone(&self.catchup)))
    }

    /// A connection ends, as its client wants.
    pub(crate) fn close(&self, live: &Live) {
        self.sessions.close(&live.connection);
    }

    /// A connection ends because the node drains.
    pub(crate) fn send_away(&self, live: &Live) {
        live.connection.outbox.close(CloseCode::NodeDrains);
        self.sessions.close(&live.connection);
    }

    /// Waits until the table is settled.
    pub(crate) async fn settle(&self) {
        let waited = async {
            loop {
                self.store.watch_presence(TTL).await.expect("watched");
                match self.store.live_people(&[], TTL).await.expect("an answer").settles_in {
                    None => break,
                    Some(left) => tokio::time::sleep(left.min(TTL / 10)).await,
                }
            }
        };
        tokio::time::timeout(TTL * 10, waited).await.expect("settled in time");
    }

    pub(crate) async fn noted(&self, user: UserId) -> Option<(PersonStatus, u64)> {
        let noted = self.store.people_presence(&[user]).await.expect("an answer");
        noted.first().map(|PersonPresence { status, version, .. }| (*status, *version))
    }
}
