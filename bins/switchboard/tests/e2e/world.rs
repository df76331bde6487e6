//! A cluster with people in it, or one process that stands for it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use client::api::{NewDevice, NewRoom};
use client::{Api, Credential};
use domain::{DeviceId, DeviceKind, RoomId, UserId};
use protocol::Encoding;
use rusqlite::OpenFlags;
use rusqlite::types::ValueRef;
use store::Store;
use store::postgres::{DatabaseSettings, Postgres};
use store::sqlite::Sqlite;
use testkit::cluster::{ClusterOptions, TestCluster};
use testkit::postgres::TestDatabase;
use uuid::Uuid;

use crate::wire::Wire;

/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The password of everybody.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// Makes two tests of each of these bodies, which are given what is to be started: `cluster::<body>` on two api nodes and two gateways over
/// PostgreSQL (or as many as the body says), and `embedded::<body>` in one process with its embedded database, where every number of a node
/// means that process. For what does not depend on how many nodes there are; the rest is a test of its own, `cluster_<...>`.
macro_rules! in_both_worlds {
    ($($body:ident),+ $(,)?) => {
        mod cluster {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $body() {
                    super::$body($crate::world::of_many().await).await;
                }
            )+
        }

        mod embedded {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $body() {
                    super::$body($crate::world::of_one()).await;
                }
            )+
        }
    };
}
pub(crate) use in_both_worlds;

/// A cluster over a fresh database.
pub(crate) async fn of_many() -> ClusterOptions {
    usual(ClusterOptions::on(TestDatabase::empty().await))
}

/// One process on an embedded database.
pub(crate) fn of_one() -> ClusterOptions {
    usual(ClusterOptions::embedded())
}

/// A running cluster, or one process that stands for it.
pub(crate) struct World {
    pub(crate) cluster: TestCluster,
}

impl World {
    /// Two api and two gateway nodes on a database of the shared server.
    pub(crate) async fn start() -> Self {
        Self::on(of_many().await).await
    }

    /// As [`World::start`], with options changed.
    pub(crate) async fn with(change: impl FnOnce(ClusterOptions) -> ClusterOptions) -> Self {
        Self::on(change(of_many().await)).await
    }

    /// As [`World::with`], on a database that the test looks after.
    pub(crate) async fn at(url: String, change: impl FnOnce(ClusterOptions) -> ClusterOptions) -> Self {
        Self::on(change(usual(ClusterOptions::at(url)))).await
    }

    /// With exactly these options.
    pub(crate) async fn on(options: ClusterOptions) -> Self {
        Self { cluster: TestCluster::start(options).await }
    }

    /// Whether there is more than one node to look at.
    pub(crate) fn has_many_nodes(&self) -> bool {
        self.cluster.names().len() > 1
    }

    /// The names of the api nodes, each once.
    pub(crate) fn api_nodes(&self) -> Vec<&str> {
        let names = self.cluster.names();
        if self.has_many_nodes() {
            names.into_iter().filter(|name| name.starts_with("api-")).collect()
        } else {
            names
        }
    }

    /// The URL of the database, past the nodes' proxies.
    pub(crate) fn database(&self) -> &str {
        self.cluster.database_url().expect("only a cluster has a PostgreSQL")
    }

    /// Asks the database itself, in words that both understand when the test runs in both worlds.
    pub(crate) async fn sql(&self, statement: &str) -> Vec<Vec<Option<String>>> {
        let Some(file) = self.cluster.database_file() else {
            return localpg::query(self.database(), statement).await.expect("an answer of the database");
        };
        let statement = statement.to_owned();
        let asked = tokio::task::spawn_blocking(move || embedded_sql(&file, &statement));
        asked.await.expect("no panic").expect("an answer of the database")
    }

    /// Of two statements the one that this world's database understands.
    pub(crate) fn words<'a>(&self, postgres: &'a str, sqlite: &'a str) -> &'a str {
        if self.cluster.database_file().is_some() { sqlite } else { postgres }
    }

    /// The store, past the nodes.
    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        let registry = prometheus::Registry::new();
        match self.cluster.database_file() {
            Some(file) => Arc::new(Sqlite::join(&file, &registry).expect("the store")),
            None => {
                let settings = DatabaseSettings::with_url(self.database());
                Arc::new(Postgres::connect(&settings, &registry).await.expect("the store"))
            }
        }
    }

    /// The api node of this number, signed in as nobody.
    pub(crate) fn api(&self, number: usize) -> Api {
        Api::new(&self.cluster.api_url(number)).expect("an address of ours")
    }

    /// Registers somebody with a desktop device at an api node.
    pub(crate) async fn person(&self, number: usize, handle: &str) -> Person {
        Person::register(self.api(number), handle).await
    }

    /// Alex at the first api node and Sam at the second.
    pub(crate) async fn alex_and_sam(&self) -> (Person, Person) {
        (self.person(1, "alex").await, self.person(2, "sam").await)
    }

    /// A person's own device at a gateway, live.
    pub(crate) async fn connect(&self, person: &Person, gateway: usize) -> Wire {
        self.connect_device(person, person.device, gateway).await
    }

    /// A device of a person at a gateway, live.
    pub(crate) async fn connect_device(&self, person: &Person, device: DeviceId, gateway: usize) -> Wire {
        let mut wire = self.hello(person, gateway, Encoding::Json).await;
        wire.identify(device).await;
        wire.until_live().await;
        wire
    }

    /// A connection of a person that has had `hello` and says nothing yet.
    pub(crate) async fn hello(&self, person: &Person, gateway: usize, encoding: Encoding) -> Wire {
        let ticket = person.ticket().await;
        let url = self.cluster.gateway_url(gateway);
        Wire::open(&url, &ticket, encoding).await.unwrap_or_else(|error| panic!("no connection: {error}"))
    }

    /// One value of a node's metrics: `metric("gateway-1", "switchboard_behind_connections")`, labels included in the
    /// name. None when it is not there.
    pub(crate) async fn metric(&self, node: &str, name: &str) -> Option<f64> {
        let (_, text) = self.cluster.admin(node, "/metrics").await.expect("metrics");
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Waits until a value of a node's metrics is such.
    pub(crate) async fn until_metric(&self, node: &str, name: &str, holds: impl Fn(f64) -> bool) -> f64 {
        let mut last = None;
        let waiting = async {
            loop {
                last = self.metric(node, name).await;
                match last {
                    Some(value) if holds(value) => break value,
                    _ => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("{name} of {node} stays {last:?}"))
    }

    /// Resident bytes of a node's process.
    pub(crate) fn resident(&self, node: &str) -> u64 {
        let pid = self.cluster.pid(node).expect("a running node");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the status of a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        let kib: u64 = line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number");
        kib * 1024
    }
}

/// Rows as text, with ids as they are written elsewhere.
fn embedded_sql(file: &Path, statement: &str) -> rusqlite::Result<Vec<Vec<Option<String>>>> {
    let connection = rusqlite::Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(PATIENCE)?;
    let mut statement = connection.prepare(statement)?;
    let columns = statement.column_count();
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Some(Uuid::from_slice(bytes).expect("an id").to_string()),
    };
    let rows = statement.query_map([], |row| (0..columns).map(|n| row.get_ref(n).map(text)).collect())?;
    rows.collect()
}

/// What all tests want: open registration, cheap passwords, no limit of sign-ins.
pub(crate) fn usual(options: ClusterOptions) -> ClusterOptions {
    options
        .binary_at(env!("CARGO_BIN_EXE_switchboard"))
        .nodes(2, 2, 0)
        .setting("auth.registration", "open")
        .setting("auth.rate", "100000")
        .setting("auth.burst", "100000")
        .setting("auth.argon2_memory_kib", "64")
        .setting("auth.argon2_iterations", "1")
        .setting("gateway.frame_rate", "100000")
        .setting("gateway.frame_burst", "100000")
        .setting("gateway.reconnect_jitter", "100ms")
}

/// Somebody who is registered, with one device.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    /// At the node where they registered.
    pub(crate) api: Api,
    pub(crate) id: UserId,
    pub(crate) device: DeviceId,
    pub(crate) handle: String,
}

impl Person {
    /// Registers somebody with a desktop device.
    pub(crate) async fn register(api: Api, handle: &str) -> Self {
        let device = NewDevice { kind: DeviceKind::Desktop, name: format!("{handle}'s desk") };
        let signed_in = api.register(handle, PASSWORD, None, Some(&device)).await;
        let signed_in = signed_in.unwrap_or_else(|error| panic!("{handle} can't register: {error}"));
        Self {
            api,
            id: signed_in.user.expect("the person who was registered").id,
            device: signed_in.device_id.expect("the device that was named"),
            handle: handle.to_owned(),
        }
    }

    /// The same person at another api node.
    pub(crate) fn at(&self, world: &World, number: usize) -> Api {
        self.api.at(&world.cluster.api_url(number)).expect("an address of ours")
    }

    /// A ticket for one connection.
    pub(crate) async fn ticket(&self) -> Credential {
        Credential::Ticket(self.api.ticket().await.expect("a ticket").ticket)
    }

    /// One more device.
    pub(crate) async fn new_device(&self, kind: DeviceKind) -> DeviceId {
        let device = NewDevice { kind, name: "one more".to_owned() };
        self.api.add_device(&device).await.expect("a device").id
    }

    /// A group with these people.
    pub(crate) async fn room(&self, name: &str, others: &[&Self]) -> RoomId {
        let members: Vec<UserId> = others.iter().map(|person| person.id).collect();
        self.api.create_room(&NewRoom::group(name, members), None).await.expect("a room").id
    }

    /// A message by REST; gives its seq.
    pub(crate) async fn says(&self, room: RoomId, body: &str) -> u64 {
        let sent = self.api.send_message(room, &client::api::NewMessage::new(body)).await;
        sent.unwrap_or_else(|error| panic!("{} can't send: {error}", self.handle)).event.seq
    }
}
