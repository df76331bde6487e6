//! How people are seen, over all nodes, whatever happens to them.
//!
//! Versions tell what was not said: they grow by one with each change, so the next one proves that nothing came between.

use std::collections::HashMap;
use std::time::Duration;

use domain::{DeviceKind, PersonStatus, RoomId};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use protocol::frame::{self, PresenceStatus, Subject};
use protocol::{ClientFrame, Encoding};
use testkit::cluster::ClusterOptions;
use testkit::postgres::OwnServer;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::sse::Sse;
use crate::wire::Wire;
use crate::world::{PATIENCE, Person, World, in_both_worlds};

in_both_worlds!(a_person_is_seen_over_all_devices, a_version_never_goes_back);

const TTL: Duration = Duration::from_secs(3);
const FLUSH: Duration = Duration::from_millis(200);

/// Flushes often, forgets soon, and nothing but what is told tells anybody.
fn options(options: ClusterOptions) -> ClusterOptions {
    options
        .nodes(1, 2, 1)
        .setting("cluster.presence_flush_interval", "200ms")
        .setting("cluster.presence_ttl", "3s")
        .setting("relay.sweep_interval", "1h")
        .setting("sync.resume_window", "0s")
}

/// Somebody who watches others.
struct Watcher {
    wire: Wire,
    versions: HashMap<Uuid, u64>,
}

impl Watcher {
    async fn at(world: &World, person: &Person, gateway: usize) -> Self {
        let device = person.new_device(DeviceKind::Web).await;
        let wire = world.connect_device(person, device, gateway).await;
        Self { wire, versions: HashMap::new() }
    }

    /// Waits until somebody is seen so; gives the version.
    async fn sees(&mut self, person: &Person, wanted: PresenceStatus) -> u64 {
        loop {
            let (user, status, version) = self.next().await;
            if user == person.id.0 && status == wanted {
                return version;
            }
        }
    }

    /// Waits until all of them were seen so, in whatever order.
    async fn sees_all(&mut self, people: &[&Person], wanted: PresenceStatus) {
        let mut missing: Vec<Uuid> = people.iter().map(|person| person.id.0).collect();
        while !missing.is_empty() {
            let (user, status, _) = self.next().await;
            missing.retain(|person| *person != user || status != wanted);
        }
    }

    /// What is told next: never something older than what was told before.
    async fn next(&mut self) -> (Uuid, PresenceStatus, u64) {
        let seen = self.wire.person_seen().await;
        let Subject::User(user) = seen.subject else { panic!("{seen:?}") };
        let last = self.versions.insert(user, seen.version).unwrap_or_default();
        assert!(seen.version >= last, "{seen:?} after version {last}");
        (user, seen.status, seen.version)
    }
}

impl World {
    /// Waits until rows say that so many are connected. One process has none: it asks its own connections, and knows at once.
    async fn until_connected(&self, connections: usize) {
        if self.has_many_nodes() {
            self.until_row(&format!("SELECT 1 FROM gateway_presence HAVING count(*) = {connections}")).await;
        }
    }

    /// As [`World::until_connected`], of those that are idle.
    async fn until_idle(&self, connections: usize) {
        if self.has_many_nodes() {
            let idle = "SELECT 1 FROM gateway_presence WHERE idle HAVING count(*) =";
            self.until_row(&format!("{idle} {connections}")).await;
        }
    }

    /// Waits until presence says who is not there, also a while after the database started. One process does at once when it waits for nobody
    /// to come back.
    async fn until_settled(&self) {
        if !self.has_many_nodes() {
            return;
        }
        let settled = format!(
            "SELECT 1 FROM presence_epoch
             WHERE greatest(since, pg_postmaster_start_time()) < now() - interval '{} ms'",
            TTL.as_millis()
        );
        self.until_row(&settled).await;
    }

    async fn until_row(&self, sql: &str) {
        let waiting = async {
            loop {
                match localpg::query(self.database(), sql).await {
                    Ok(rows) if !rows.is_empty() => return,
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("no row: {sql}"));
    }

    async fn noted(&self, person: &Person) -> (PersonStatus, u64) {
        let noted = self.store().await.people_presence(&[person.id]).await.expect("an answer");
        (noted[0].status, noted[0].version)
    }

    /// Waits until somebody is noted so; gives the version.
    async fn until_noted(&self, person: &Person, wanted: PersonStatus) -> u64 {
        let waiting = async {
            loop {
                match self.noted(person).await {
                    (status, version) if status == wanted => return version,
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never noted as {wanted:?}"))
    }

    /// Alex who watches at the second gateway, Sam, and Robin, in one room.
    async fn three(&self) -> (Watcher, [Person; 3], RoomId) {
        let (alex, sam, robin) =
            (self.person(1, "alex").await, self.person(1, "sam").await, self.person(1, "robin").await);
        let room = alex.room("Lunch", &[&sam, &robin]).await;
        self.until_settled().await;
        let mut watcher = Watcher::at(self, &alex, 2).await;
        assert_eq!(watcher.sees(&alex, PresenceStatus::Online).await, 1, "oneself");
        (watcher, [alex, sam, robin], room)
    }
}

async fn idle(wire: &Wire, idle: bool) {
    wire.say(&ClientFrame::Focus(frame::Focus { room_id: None, idle })).await;
}

async fn a_person_is_seen_over_all_devices(given: ClusterOptions) {
    let world = World::on(options(given)).await;
    let (mut watcher, [alex, sam, _], _) = world.three().await;
    let mut first = world.connect(&sam, 1).await;
    assert_eq!(watcher.sees(&sam, PresenceStatus::Online).await, 1);
    let mut second = world.connect_device(&sam, sam.new_device(DeviceKind::Mobile).await, 2).await;
    let mut streaming = Sse::open(&sam.api, None, None).await;
    streaming.until_live().await;
    world.until_connected(4).await;
    for wire in [&mut first, &mut second] {
        idle(wire, true).await;
        wire.ping().await;
    }
    world.until_idle(2).await;
    // The page of the stream is the last that is in use.
    drop(streaming);
    assert_eq!(watcher.sees(&sam, PresenceStatus::Idle).await, 2);
    idle(&first, false).await;
    assert_eq!(watcher.sees(&sam, PresenceStatus::Online).await, 3);
    // Who comes now is told how it is.
    let mut later = world.hello(&alex, 1, Encoding::Json).await;
    later.identify(alex.device).await;
    later.until_live().await;
    let mut told: Vec<_> =
        later.take_people_seen().into_iter().map(|seen| (seen.subject, seen.version)).collect();
    told.sort_by_key(|(_, version)| *version);
    assert_eq!(told, [(Subject::User(alex.id.0), 1), (Subject::User(sam.id.0), 3)]);
    drop(first);
    assert_eq!(watcher.sees(&sam, PresenceStatus::Idle).await, 4, "the other gateway has one more");
    drop(second);
    assert_eq!(watcher.sees(&sam, PresenceStatus::Offline).await, 5);
    world.until_connected(2).await;
}

/// Only the database's clock counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_gateway_that_is_killed_takes_its_people_away_when_their_rows_expire() {
    let mut world =
        World::with(|given| options(given).wrong_clock("gateway-1", "+1h").wrong_clock("worker-1", "-1h"))
            .await;
    let (mut watcher, [_, sam, robin], _) = world.three().await;
    let _stays = world.connect_device(&robin, robin.new_device(DeviceKind::Web).await, 2).await;
    let _gone = (world.connect(&sam, 1).await, world.connect(&robin, 1).await);
    watcher.sees(&sam, PresenceStatus::Online).await;
    world.until_row("SELECT 1 FROM gateway_presence HAVING count(*) = 4").await;
    world.cluster.kill("gateway-1").await;
    let killed = Instant::now();
    assert_eq!(watcher.sees(&sam, PresenceStatus::Offline).await, 2);
    let after = killed.elapsed();
    assert!(after >= TTL - FLUSH * 3, "{after:?}");
    assert!(after <= TTL * 3, "{after:?}");
    assert_eq!(
        world.noted(&robin).await,
        (PersonStatus::Online, 1),
        "there at the other gateway all the time"
    );
}

/// A crash empties the table. The rows are back at once, and nobody learns of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_database_that_crashes_takes_nobody_away() {
    let mut server = OwnServer::durable().await;
    let database = server.database("presence").await.expect("a database");
    let world = World::at(database, options).await;
    let (mut watcher, [_, sam, robin], _) = world.three().await;
    // Idle at one gateway and not at the other: neither alone has the whole truth.
    let (used, unused) = (
        world.connect(&sam, 1).await,
        world.connect_device(&sam, sam.new_device(DeviceKind::Web).await, 2).await,
    );
    idle(&unused, true).await;
    let robins = world.connect(&robin, 1).await;
    watcher.sees_all(&[&sam, &robin], PresenceStatus::Online).await;
    world.until_row("SELECT 1 FROM gateway_presence HAVING count(*) = 4").await;
    let before = (world.noted(&sam).await, world.noted(&robin).await);
    server.crash().await.expect("crashed");
    server.start_again().await.expect("back");
    let back = Instant::now();
    world.until_row("SELECT 1 FROM gateway_presence HAVING count(*) = 4").await;
    let took = back.elapsed();
    assert!(took <= FLUSH * 25, "{took:?}: an interval, and the time to connect again on a busy machine");
    // Until everything was compared with everything, twice.
    world.until_settled().await;
    tokio::time::sleep(TTL * 3).await;
    assert_eq!((world.noted(&sam).await, world.noted(&robin).await), before);
    // And it is not that nobody is told any more.
    drop(robins);
    assert_eq!(watcher.sees(&robin, PresenceStatus::Offline).await, before.1.1 + 1);
    drop(used);
    assert_eq!(watcher.sees(&sam, PresenceStatus::Idle).await, before.0.1 + 1);
}

/// Rows look too old when it goes on, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_database_that_stands_still_takes_nobody_away() {
    let server = OwnServer::fast().await;
    let database = server.database("presence").await.expect("a database");
    let world = World::at(database, options).await;
    let (mut watcher, [_, sam, robin], _) = world.three().await;
    let (_sams, robins) = (world.connect(&sam, 1).await, world.connect(&robin, 2).await);
    watcher.sees_all(&[&sam, &robin], PresenceStatus::Online).await;
    for _ in 0..3 {
        server.pause();
        tokio::time::sleep(TTL + FLUSH * 2).await;
        server.resume();
        world
            .until_row(
                "SELECT 1 FROM gateway_presence WHERE updated_at > now() - interval '1s' HAVING count(*) = 3",
            )
            .await;
    }
    world.until_settled().await;
    tokio::time::sleep(TTL * 3).await;
    assert_eq!((world.noted(&sam).await.1, world.noted(&robin).await.1), (1, 1));
    drop(robins);
    assert_eq!(watcher.sees(&robin, PresenceStatus::Offline).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_gateway_that_drains_takes_away_who_does_not_come_back() {
    const WINDOW: Duration = Duration::from_secs(4);
    let mut world = World::with(|given| {
        options(given).setting("sync.resume_window", "4s").setting("shutdown.spread", "0s")
    })
    .await;
    let (mut watcher, [_, sam, robin], _) = world.three().await;
    let (mut sams, robins) = (world.connect(&sam, 1).await, world.connect(&robin, 1).await);
    watcher.sees_all(&[&sam, &robin], PresenceStatus::Online).await;
    let cursors = sams.cursors();
    world.cluster.terminate("gateway-1");
    assert_eq!(sams.closed().await, 1012);
    let drained = Instant::now();
    assert!(world.cluster.until_ended("gateway-1").await.success());
    let left = "SELECT 1 FROM gateway_presence WHERE resumable_until IS NOT NULL HAVING count(*) = 2";
    world.until_row(left).await;
    let mut back = world.hello(&sam, 2, Encoding::Json).await;
    back.resume(sams.ready().session_id, cursors).await;
    back.until_live().await;
    assert_eq!(watcher.sees(&robin, PresenceStatus::Offline).await, 2);
    let after = drained.elapsed();
    assert!(after >= WINDOW - FLUSH, "{after:?}");
    assert_eq!(world.noted(&sam).await, (PersonStatus::Online, 1), "nobody noticed");
    world.until_row("SELECT 1 FROM gateway_presence HAVING count(*) = 2").await;
    drop((back, robins));
    assert_eq!(watcher.sees(&sam, PresenceStatus::Offline).await, 2);
}

/// It stands still for longer than rows live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_gateway_that_sleeps_brings_nobody_back_who_went_elsewhere() {
    let world = World::with(options).await;
    let (mut watcher, [_, sam, robin], _) = world.three().await;
    let (mut sams, mut robins) = (world.connect(&sam, 1).await, world.connect(&robin, 1).await);
    watcher.sees_all(&[&sam, &robin], PresenceStatus::Online).await;
    world.cluster.pause("gateway-1");
    let mut gone = HashMap::new();
    while gone.len() < 2 {
        let (user, status, version) = watcher.next().await;
        assert_eq!((status, version), (PresenceStatus::Offline, 2));
        gone.insert(user, version);
    }
    let elsewhere = world.connect(&sam, 2).await;
    assert_eq!(watcher.sees(&sam, PresenceStatus::Online).await, 3);
    world.cluster.resume("gateway-1");
    assert_eq!(sams.closed().await, 4017);
    assert_eq!(watcher.sees(&robin, PresenceStatus::Online).await, 3, "connected all the time");
    robins.ping().await;
    drop(elsewhere);
    assert_eq!(watcher.sees(&sam, PresenceStatus::Offline).await, 4, "no ghost of the one that slept");
    drop(robins);
    assert_eq!(watcher.sees(&robin, PresenceStatus::Offline).await, 4);
    world.until_row("SELECT 1 FROM gateway_presence HAVING count(*) = 1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_five_hundred_who_come_at_once_are_no_storm() {
    const PEOPLE: usize = 500;
    let world = World::with(|given| options(given).setting("presence.max_changes_per_flush", "50")).await;
    let (mut watcher, [alex, ..], _) = world.three().await;
    let handles: Vec<String> = (0..PEOPLE).map(|n| format!("p{n}")).collect();
    let people: Vec<Person> =
        stream::iter(&handles).map(|handle| world.person(1, handle)).buffer_unordered(16).collect().await;
    let all: Vec<&Person> = people.iter().collect();
    // Everybody shares a room that is too large to tell of each other, and one is alone with Alex.
    alex.room("Town", &all).await;
    let friend = &people[7];
    alex.room("Tea", &[friend]).await;
    let [told, sent, flushed] = [
        "switchboard_presence_changes_total",
        "switchboard_notify_received_total{kind=\"user.presence\"}",
        "switchboard_presence_rows_written_total",
    ];
    let heard = world.metric("gateway-2", sent).await.unwrap_or_default();
    let wires = join_all(people.iter().map(|person| world.connect(person, 1))).await;
    assert_eq!(watcher.sees(friend, PresenceStatus::Online).await, 1);
    world.until_metric("gateway-1", told, |told| told >= PEOPLE as f64).await;
    assert_eq!(world.metric("gateway-1", told).await, Some(PEOPLE as f64), "each once");
    world.until_metric("gateway-2", sent, |now| now - heard >= PEOPLE as f64).await;
    assert_eq!(world.metric("gateway-2", sent).await, Some(heard + PEOPLE as f64));
    assert!(world.metric("gateway-1", flushed).await >= Some(PEOPLE as f64));
    // Nobody of the large room was told of the others: of oneself, and a friend of Alex.
    let mut frames = 0;
    for mut wire in wires {
        wire.ping().await;
        frames += wire.take_people_seen().len();
    }
    assert!(frames <= PEOPLE + 4, "{frames}");
    assert_eq!(watcher.wire.take_people_seen(), []);
}

/// However fast somebody comes and goes, on two gateways at once when there are two.
async fn a_version_never_goes_back(given: ClusterOptions) {
    let world = World::on(options(given).setting("cluster.presence_flush_interval", "10ms")).await;
    let (mut watcher, [_, sam, robin], _) = world.three().await;
    let phone = sam.new_device(DeviceKind::Mobile).await;
    let (one, other) = (world.connect(&sam, 1).await, world.connect_device(&sam, phone, 2).await);
    let (one, other) = (&one, &other);
    let flicker = async {
        for round in 0..300 {
            idle(one, round % 2 == 0).await;
            idle(other, round % 3 == 0).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        idle(one, true).await;
        idle(other, true).await;
    };
    let come = async {
        let mut last = 0;
        for round in 0..40 {
            let device = robin.new_device(DeviceKind::Web).await;
            let mut wire = world.connect_device(&robin, device, 1 + round % 2).await;
            for seen in wire.take_people_seen() {
                if seen.subject == Subject::User(sam.id.0) {
                    assert!(seen.version >= last, "{seen:?} after {last} at another connection");
                    last = seen.version;
                }
            }
            wire.ping().await;
            let seen = wire.take_people_seen();
            let versions = seen.iter().filter(|seen| seen.subject == Subject::User(sam.id.0));
            let versions: Vec<u64> = std::iter::once(last).chain(versions.map(|seen| seen.version)).collect();
            assert!(versions.is_sorted(), "{versions:?}");
        }
    };
    tokio::join!(flicker, come);
    world.until_idle(2).await;
    let version = world.until_noted(&sam, PersonStatus::Idle).await;
    assert!(version > 20, "{version}: hardly anything changed");
    while watcher.sees(&sam, PresenceStatus::Idle).await < version {}
}
