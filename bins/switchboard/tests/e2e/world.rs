//! A cluster with people in it.

use std::fs;
use std::time::Duration;

use client::api::{NewDevice, NewRoom};
use client::{Api, Credential};
use domain::{DeviceId, DeviceKind, RoomId, UserId};
use protocol::Encoding;
use testkit::cluster::{ClusterOptions, TestCluster};
use testkit::postgres::TestDatabase;

use crate::wire::Wire;

/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The password of everybody.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A running cluster.
pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    /// The database, past the nodes' proxies.
    pub(crate) database: String,
}

impl World {
    /// Two api and two gateway nodes on a database of the shared server.
    pub(crate) async fn start() -> Self {
        Self::with(|options| options).await
    }

    /// As [`World::start`], with options changed.
    pub(crate) async fn with(change: impl FnOnce(ClusterOptions) -> ClusterOptions) -> Self {
        let database = TestDatabase::empty().await;
        let url = database.url();
        let options = change(usual(ClusterOptions::on(database)));
        Self { cluster: TestCluster::start(options).await, database: url }
    }

    /// As [`World::with`], on a database that the test looks after.
    pub(crate) async fn at(url: String, change: impl FnOnce(ClusterOptions) -> ClusterOptions) -> Self {
        let options = change(usual(ClusterOptions::at(url.clone())));
        Self { cluster: TestCluster::start(options).await, database: url }
    }

    /// With these options, on the database at this URL.
    pub(crate) async fn of(url: String, options: ClusterOptions) -> Self {
        Self { cluster: TestCluster::start(options).await, database: url }
    }

    /// Asks the database itself.
    pub(crate) async fn sql(&self, statement: &str) -> Vec<Vec<Option<String>>> {
        localpg::query(&self.database, statement).await.expect("an answer of the database")
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
