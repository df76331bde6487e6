//! Twenty thousand messages while everything that can die does.
//!
//! Twenty people write to fifty rooms, a hundred follow on two gateways, and as the messages are acknowledged each
//! node in turn is killed and started again, the database crashes once, and connections are cut. In the
//! end every member must have every event of their rooms exactly once and in order, as the log has them, and
//! every acknowledged message must be in the log exactly once.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::session::{Backoff, SessionSettings, SignIn};
use client::{Api, Session, State, Update, Updates};
use domain::{DeviceKind, RoomId};
use protocol::frame::Slot;
use testkit::cluster::{ClusterOptions, TestCluster};
use testkit::postgres::OwnServer;
use testkit::proxy::Proxy;
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

const PEOPLE: usize = 100;
const SENDERS: usize = 20;
const ROOMS: usize = 50;
const MESSAGES: u64 = 20_000;
/// In how many rooms each person is.
const ROOMS_OF_ONE: usize = 5;
/// How long everyone may take to have everything once all is well again.
const PATIENCE: Duration = Duration::from_secs(240);

/// Acknowledged messages: id and seq by body.
type Acknowledged = Vec<(String, Uuid, u64)>;
/// What one person was given of each room: seq and id.
type Given = HashMap<Uuid, Vec<(u64, Uuid)>>;

struct Person {
    api: Vec<Api>,
    device: Uuid,
    rooms: Vec<RoomId>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_everyone_gets_everything_once_while_nodes_and_the_database_die() {
    let mut server = OwnServer::durable().await;
    let database = server.database("chaos").await.expect("a database");
    let options = ClusterOptions::at(database.clone())
        .binary_at(env!("CARGO_BIN_EXE_switchboard"))
        .database_through_proxies()
        .setting("auth.registration", "open")
        .setting("auth.rate", "100000")
        .setting("auth.burst", "100000")
        .setting("auth.argon2_memory_kib", "64")
        .setting("auth.argon2_iterations", "1")
        .setting("gateway.reconnect_jitter", "200ms");
    let mut cluster = TestCluster::start(options).await;
    let gateways: Vec<Proxy> = (1..=2).map(|n| Proxy::start(address(&cluster.gateway_url(n)))).collect();
    let urls: Vec<String> = (0..2).map(|n| gateways[n].url(&cluster.gateway_url(n + 1))).collect();

    let people = people(&cluster).await;
    let heads = watch::Sender::new(None::<Arc<BTreeMap<Uuid, u64>>>);
    let mut following = JoinSet::new();
    let mut sessions = Vec::new();
    for (n, person) in people.iter().enumerate() {
        let (session, updates) = session(person, &urls, n);
        session.live().await.expect("live");
        sessions.push(session);
        following.spawn(follow(n, updates, person.rooms.clone(), heads.subscribe()));
    }

    let acknowledged = Arc::new(AtomicU64::new(0));
    let mut sending = JoinSet::new();
    let sessions: Arc<Vec<Session>> = Arc::new(sessions);
    for sender in 0..SENDERS {
        // Every fifth person writes, so that senders are spread over the rooms.
        let who = sender * (PEOPLE / SENDERS);
        let (sessions, rooms, count) =
            (Arc::clone(&sessions), people[who].rooms.clone(), Arc::clone(&acknowledged));
        sending.spawn(async move { send(who, &sessions[who], &rooms, &count).await });
    }
    break_everything(&mut cluster, &mut server, &gateways, &acknowledged).await;

    let mut said = Acknowledged::new();
    while let Some(sent) = sending.join_next().await {
        said.extend(sent.expect("a sender"));
    }
    assert_eq!(said.len() as u64, MESSAGES);
    let log = log(&database).await;
    heads.send_replace(Some(Arc::new(
        log.iter().map(|(room, events)| (*room, events.len() as u64)).collect(),
    )));
    check_acknowledged(&said, &log);
    let mut told = 0;
    while let Some(one) =
        tokio::time::timeout(PATIENCE, following.join_next()).await.expect("everyone has everything in time")
    {
        let (who, given) = one.expect("a follower");
        for room in &people[who].rooms {
            let expected = &log[&room.0];
            let given = &given[&room.0];
            // Everyone followed from the same moment on: all rooms stood, nothing was said.
            let begin = expected.len() - given.len();
            assert_eq!(given[..], expected[begin..], "person {who} in room {room}");
            assert_eq!(
                begin,
                PEOPLE * ROOMS_OF_ONE / ROOMS,
                "person {who} in room {room}: all but the joining"
            );
            told += 1;
        }
    }
    assert_eq!(told, PEOPLE * ROOMS_OF_ONE);
}

fn address(url: &str) -> SocketAddr {
    let host = url.split("://").nth(1).expect("a scheme");
    host.split('/').next().expect("a host").parse().expect("an address")
}

/// A hundred people with a device each, in fifty rooms of ten.
async fn people(cluster: &TestCluster) -> Vec<Person> {
    let device = client::api::NewDevice { kind: DeviceKind::Web, name: "chaos".into() };
    let mut people = Vec::new();
    let mut ids = Vec::new();
    for n in 0..PEOPLE {
        let api = Api::new(&cluster.api_url(1)).expect("an address").signed_out();
        let signed_in =
            api.register(&format!("person{n}"), "correct horse battery", None, Some(&device)).await;
        let signed_in = signed_in.expect("registered");
        ids.push(signed_in.user.expect("a user").id);
        let there = api.at(&cluster.api_url(2)).expect("an address");
        let device = signed_in.device_id.expect("a device").0;
        people.push(Person { api: vec![api, there], device, rooms: Vec::new() });
    }
    for room in 0..ROOMS {
        let members: Vec<usize> =
            (room * 2..room * 2 + PEOPLE * ROOMS_OF_ONE / ROOMS).map(|n| n % PEOPLE).collect();
        let others: Vec<_> = members[1..].iter().map(|n| ids[*n]).collect();
        let group = client::api::NewRoom::group(format!("room {room}"), others);
        let made = people[members[0]].api[0].create_room(&group, None).await.expect("a room");
        for member in members {
            people[member].rooms.push(made.id);
        }
    }
    people
}

fn session(person: &Person, urls: &[String], n: usize) -> (Session, Updates) {
    let (mut gateways, mut apis) = (urls.to_vec(), person.api.clone());
    gateways.rotate_left(n % 2);
    apis.rotate_left(n / 2 % 2);
    let mut settings = SessionSettings::new(gateways, SignIn::Tickets(apis), Slot::Device(person.device));
    settings.backoff = Backoff { first: Duration::from_millis(100), most: Duration::from_secs(2) };
    settings.resend = Duration::from_secs(5);
    Session::open(settings)
}

/// Sends this person's share, one after the other, to all their rooms in turn.
async fn send(who: usize, session: &Session, rooms: &[RoomId], count: &AtomicU64) -> Acknowledged {
    let mut said = Acknowledged::new();
    for number in 0..MESSAGES / SENDERS as u64 {
        let room = rooms[usize::try_from(number).expect("small") % rooms.len()];
        let body = format!("message {number} of person {who}");
        let sent = session.send(room, body.clone()).await.expect("acknowledged");
        said.push((body, sent.id, sent.seq));
        count.fetch_add(1, Ordering::Relaxed);
    }
    said
}

/// Takes what comes until all rooms have come to their heads.
async fn follow(
    who: usize,
    mut updates: Updates,
    rooms: Vec<RoomId>,
    mut heads: watch::Receiver<Option<Arc<BTreeMap<Uuid, u64>>>>,
) -> (usize, Given) {
    let mut given: Given = rooms.iter().map(|room| (room.0, Vec::new())).collect();
    loop {
        let is_done = heads.borrow().as_ref().is_some_and(|heads| {
            given.iter().all(|(room, events)| events.last().is_some_and(|(seq, _)| *seq == heads[room]))
        });
        if is_done {
            return (who, given);
        }
        tokio::select! {
            update = updates.next() => match update.expect("the session goes on") {
                Update::Event(event) => {
                    if let Some(room) = event.stream.strip_prefix("room:") {
                        let room: Uuid = room.parse().expect("an id");
                        given.get_mut(&room).expect("one of the person's rooms").push((event.seq, event.id));
                    }
                }
                Update::Fault(fault) => panic!("person {who}: {fault:?}"),
                Update::Gap(gap) => panic!("person {who}: nothing was trimmed, but {gap:?}"),
                Update::State(State::Stopped { why }) => panic!("person {who} stopped: {why:?}"),
                _ => {}
            },
            changed = heads.changed() => changed.expect("the test goes on"),
        }
    }
}

/// Kills each node, crashes the database and cuts connections, spread over the messages.
async fn break_everything(
    cluster: &mut TestCluster,
    server: &mut OwnServer,
    gateways: &[Proxy],
    acknowledged: &AtomicU64,
) {
    let nodes: Vec<String> = cluster.names().into_iter().map(str::to_owned).collect();
    let steps = nodes.len() as u64 + 4;
    let mut step = 0;
    let mut next = async || {
        step += 1;
        let at = MESSAGES * step / (steps + 1);
        while acknowledged.load(Ordering::Relaxed) < at {
            // Acknowledgements are no event of the cluster's; they are looked at.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    for (n, node) in nodes.iter().enumerate() {
        next().await;
        cluster.kill(node).await;
        cluster.start_again(node).await;
        if n == 0 {
            next().await;
            gateways[0].cut();
        }
        if n == 2 {
            next().await;
            server.crash().await.expect("crashed");
            server.start_again().await.expect("back");
        }
        if n == 3 {
            next().await;
            gateways[1].cut();
            cluster.database_of("gateway-1").cut();
        }
    }
    next().await;
    cluster.database_of("gateway-2").strand();
}

/// The log as the database has it, read past the product.
async fn log(database: &str) -> HashMap<Uuid, Vec<(u64, Uuid)>> {
    let sql = "SELECT stream_id, seq, events.id, data ->> 'body' FROM events JOIN rooms ON rooms.id = stream_id ORDER BY 1, 2";
    let mut log: HashMap<Uuid, Vec<(u64, Uuid)>> = HashMap::new();
    for row in localpg::query(database, sql).await.expect("the log") {
        let text = |n: usize| row[n].as_deref().expect("not null");
        let events = log.entry(text(0).parse().expect("an id")).or_default();
        events.push((text(1).parse().expect("a seq"), text(2).parse().expect("an id")));
    }
    for (room, events) in &log {
        let seqs: Vec<u64> = events.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>(), "room {room} has holes");
    }
    log
}

fn check_acknowledged(said: &Acknowledged, log: &HashMap<Uuid, Vec<(u64, Uuid)>>) {
    let by_id: HashMap<Uuid, u64> = log.values().flatten().map(|(seq, id)| (*id, *seq)).collect();
    for (body, id, seq) in said {
        assert_eq!(by_id.get(id), Some(seq), "{body} was acknowledged as {id}");
    }
    let events: usize = log.values().map(Vec::len).sum();
    let joined = PEOPLE * ROOMS_OF_ONE;
    assert_eq!(events, said.len() + joined, "a message stands twice, or one that nobody sent");
}
