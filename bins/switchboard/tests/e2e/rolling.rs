//! Every node of a cluster is replaced while people are at it, behind nginx.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::api::{NewMessage, Range};
use client::{Session, SessionSettings, SignIn, State, Update, Updates};
use domain::{DeviceKind, RoomId};
use futures_util::future::join_all;
use parking_lot::Mutex;
use protocol::frame::Slot;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::front::{Front, trusting};
use crate::wire::{body, stream};
use crate::world::{PATIENCE, Person, World};

const PEOPLE: usize = 50;
const DEVICES: usize = 10;
const PER_SECOND: u64 = 200;
/// One request of so many is a message; the others read.
const TALK: usize = 4;
/// How long a client may be away, on a machine that does all of this at once in a build without optimisation.
const AWAY: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_rolling_restart_of_every_role_behind_nginx_is_seen_by_nobody() {
    let mut world = World::with(|options| {
        trusting(options)
            .nodes(2, 2, 2)
            .setting("gateway.reconnect_jitter", "3s")
            .setting("shutdown.lead", "1s")
            .setting("shutdown.spread", "5s")
            .setting("shutdown.deadline", "20s")
            // All of this on two cores, unoptimised: calls wait for their turn, and are not to be refused for it.
            .setting("database.pool_wait", "20s")
            .setting("database.pool_size", "8")
    })
    .await;
    let front = Front::of(&world).await;
    let people = people(&front).await;
    let rooms = join_all(people.iter().map(|person| person.room("Lunch", &[]))).await;
    let away = Arc::new(Mutex::new(Vec::new()));
    let mut watching = JoinSet::new();
    for (person, room) in people.iter().zip(&rooms) {
        for (session, updates) in sessions(&front, person).await {
            watching.spawn(watch(session, updates, *room, Arc::clone(&away)));
        }
    }
    let load = Arc::new(Load::default());
    let pressing = tokio::spawn(press(Arc::clone(&load), people.clone(), rooms.clone()));
    let began = Instant::now();
    let nodes: Vec<String> = world.cluster.names().into_iter().map(str::to_owned).collect();
    for node in &nodes {
        let status = world.cluster.stop(node).await;
        assert!(status.success(), "{node}: {status}\n{}", world.cluster.log(node));
        world.cluster.start_again(node).await;
    }
    let took = began.elapsed();
    load.over.store(true, Ordering::Relaxed);
    pressing.await.expect("the load");
    for (person, room) in people.iter().zip(&rooms) {
        person.says(*room, "the end").await;
    }
    let seen = timeout(4 * PATIENCE, watching.join_all()).await.expect("all see the end");

    let failed = std::mem::take(&mut *load.failed.lock());
    let asked = load.asked.load(Ordering::Relaxed);
    assert!(failed.is_empty(), "{} of {asked} failed: {:?}\n{}", failed.len(), failed.first(), front.log());
    for (at, seqs) in seen.iter().enumerate() {
        assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1), "client {at} lacks or repeats: {seqs:?}");
    }
    let said = std::mem::take(&mut *load.said.lock());
    for (at, room) in rooms.iter().enumerate() {
        let log = log(&people[at], *room).await;
        let said = said.get(room).cloned().unwrap_or_default();
        assert!(said.iter().all(|seq| log.contains(seq)), "what was acknowledged is there");
        assert_eq!(log.len(), said.len() + 1, "and nothing twice");
    }
    let mut away = away.lock().clone();
    away.sort_unstable();
    let (median, longest) = (away[away.len() / 2], away[away.len() - 1]);
    println!(
        "{} nodes replaced in {took:.1?} under {} clients and {asked} requests ({:.0}/s): none failed; clients were away {} times, \
         median {median:.0?}, 95% {:.0?}, longest {longest:.0?}",
        nodes.len(),
        seen.len(),
        asked as f64 / took.as_secs_f64(),
        away.len(),
        away[away.len() * 95 / 100],
    );
    assert!(away.len() >= PEOPLE * DEVICES, "each gateway sent its clients away");
    assert!(longest < AWAY, "{longest:?}");
}

async fn people(front: &Front) -> Vec<Person> {
    join_all((0..PEOPLE).map(async |n| front.person(&format!("p{n}")).await)).await
}

/// A person's devices, live.
async fn sessions(front: &Front, person: &Person) -> Vec<(Session, Updates)> {
    let mut sessions = Vec::new();
    for _ in 0..DEVICES {
        let device = person.new_device(DeviceKind::Web).await;
        let tickets = SignIn::Tickets(vec![person.api.clone()]);
        let settings = SessionSettings::new(vec![front.gateway_url()], tickets, Slot::Device(device.0));
        let (session, updates) = Session::open(settings);
        session.live().await.expect("live");
        sessions.push((session, updates));
    }
    sessions
}

/// The numbers of a room's events until its end, and how long there was no live connection in between.
async fn watch(
    session: Session,
    mut updates: Updates,
    room: RoomId,
    away: Arc<Mutex<Vec<Duration>>>,
) -> Vec<u64> {
    let (mut seqs, mut lost, mut was_live) = (Vec::new(), None::<Instant>, false);
    loop {
        match updates.next().await.expect("the session goes on") {
            Update::Event(event) if event.stream == stream(room) => {
                seqs.push(event.seq);
                if event.kind == "message.created" && body(&event) == "the end" {
                    session.stop().await;
                    return seqs;
                }
            }
            Update::State(State::Live) => {
                if let Some(since) = lost.take() {
                    away.lock().push(Instant::now().duration_since(since));
                }
                was_live = true;
            }
            Update::State(State::Stopped { why }) => panic!("{why}"),
            Update::State(_) if was_live && lost.is_none() => lost = Some(Instant::now()),
            Update::Fault(fault) => panic!("{fault}"),
            Update::Gap(gap) => panic!("nothing was trimmed: {gap:?}"),
            _ => {}
        }
    }
}

#[derive(Default)]
struct Load {
    over: AtomicBool,
    asked: AtomicUsize,
    failed: Mutex<Vec<String>>,
    said: Mutex<BTreeMap<RoomId, Vec<u64>>>,
}

/// Asks at the rate whatever the answers take.
async fn press(load: Arc<Load>, people: Vec<Person>, rooms: Vec<RoomId>) {
    let mut due = interval(Duration::from_micros(1_000_000 / PER_SECOND));
    let mut asking = JoinSet::new();
    while !load.over.load(Ordering::Relaxed) {
        due.tick().await;
        let number = load.asked.fetch_add(1, Ordering::Relaxed);
        let (person, room) = (people[number % PEOPLE].clone(), rooms[number % PEOPLE]);
        let load = Arc::clone(&load);
        asking.spawn(async move {
            let outcome = if number.is_multiple_of(TALK) {
                let sent = person.api.send_message(room, &NewMessage::new(format!("{number}"))).await;
                sent.map(|sent| load.said.lock().entry(room).or_default().push(sent.event.seq))
            } else if number % TALK == 1 {
                person.api.events(room, &Range::After(0), Some(5)).await.map(drop)
            } else {
                person.api.me().await.map(drop)
            };
            if let Err(error) = outcome {
                load.failed.lock().push(error.to_string());
            }
        });
        while asking.try_join_next().is_some() {}
    }
    asking.join_all().await;
}

/// The numbers of all messages in a room.
async fn log(person: &Person, room: RoomId) -> Vec<u64> {
    let mut seqs = Vec::new();
    let mut after = 0;
    loop {
        let page = person.api.events(room, &Range::After(after), Some(1000)).await.expect("a page").items;
        let Some(last) = page.last() else { return seqs };
        after = last.seq;
        seqs.extend(page.iter().filter(|event| event.kind == "message.created").map(|event| event.seq));
    }
}
