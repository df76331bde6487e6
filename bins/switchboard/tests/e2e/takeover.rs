//! A consumer's place is taken over a thousand times at random moments while requests flow.
//!
//! Each agent has one consumer, which is identified anew on a random gateway again and again, while two people, one at each gateway,
//! mention it all the time. Every connection starts, ends and acknowledges what it is asked for, as fast as it can.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::RoomId;
use protocol::frame::{Ack, RunFinish, RunStart};
use protocol::{ClientFrame, ServerFrame};
use rand::Rng;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::robot::{Robot, run_of};
use crate::wire::{Wire, message};
use crate::world::{PATIENCE, Person, World};

const AGENTS: usize = 10;

/// What one connection went through.
#[derive(Debug)]
struct Record {
    ready: Instant,
    /// When it was given which seq.
    events: Vec<(Instant, u64)>,
    /// When it was told that what it acknowledged is.
    acked: Vec<(Instant, u64)>,
    /// Runs that it was told it has started, with the epoch.
    started: BTreeSet<(uuid::Uuid, u64)>,
    /// The close code, when it was not stopped by the test.
    code: Option<u16>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_thousand_takeovers_leave_nothing_to_the_losers() {
    let world = World::start().await;
    take_over(world, 1000 / AGENTS).await;
}

/// Nobody hears of a takeover: the guards alone hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_takeovers_that_nobody_is_told_of_leave_nothing_to_the_losers() {
    let world = World::with(|options| {
        options
            .setting_of("gateway-1", "cluster.mode", "single")
            .setting_of("gateway-2", "cluster.mode", "single")
            .setting("relay.sweep_interval", "1h")
            // One that is given nothing asks for nothing: it learns by this that it is idle for good.
            .setting("runs.heartbeat", "1s")
            .setting("runs.lease", "30s")
    })
    .await;
    take_over(world, 10).await;
}

async fn take_over(world: World, times: usize) {
    let world = Arc::new(world);
    let (alex, sam) = world.alex_and_sam().await;
    let (stop, stopped) = watch::channel(false);
    let over = watch::Sender::new(false);
    let mut agents = JoinSet::new();
    let mut rooms = Vec::new();
    for n in 0..AGENTS {
        let room = alex.room(&format!("Room {n}"), &[&sam]).await;
        let robot = alex.robot(&format!("agent-{n}")).await;
        alex.invite(&robot, room).await;
        rooms.push((room, robot.handle.clone()));
        let world = Arc::clone(&world);
        let over = over.subscribe();
        agents.spawn(async move { (robot.clone(), of_one_agent(&world, &robot, over).await) });
    }
    let talking = [(1, alex.clone()), (2, sam)].map(|(gateway, person)| {
        tokio::spawn(mention(Arc::clone(&world), person, gateway, rooms.clone(), stopped.clone()))
    });
    // Who takes over again finds what was asked for elsewhere, also where nobody is told.
    let done = async {
        loop {
            let left = world.sql("SELECT count(*) FROM runs WHERE status <> 'succeeded'").await;
            let taken = world.sql("SELECT min(epoch) FROM agent_consumer_cursors").await;
            let taken: usize =
                taken[0][0].as_deref().and_then(|epoch| epoch.parse().ok()).unwrap_or_default();
            let enough = *stop.borrow();
            if enough && left[0][0].as_deref() == Some("0") {
                return;
            }
            if taken > times && !enough {
                stop.send_replace(true);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), done).await.expect("every run comes to its end");
    for talking in talking {
        talking.await.expect("mentions");
    }
    over.send_replace(true);
    let mut all = Vec::new();
    while let Some(one) = agents.join_next().await {
        all.push(one.expect("an agent"));
    }
    let mut starts: HashMap<uuid::Uuid, BTreeSet<u64>> = HashMap::new();
    for (robot, records) in &all {
        check(robot, records, times);
        for (run, epoch) in records.iter().flat_map(|record| &record.started) {
            assert!(starts.entry(*run).or_default().insert(*epoch), "run {run} was started twice as {epoch}");
        }
    }
    assert!(starts.len() > AGENTS * times / 4, "{} runs", starts.len());
    let runs = world.sql("SELECT id, epoch FROM runs").await;
    for row in runs {
        let (run, epoch) = (row[0].as_deref().expect("an id"), row[1].as_deref().expect("an epoch"));
        let (run, epoch): (uuid::Uuid, u64) = (run.parse().expect("an id"), epoch.parse().expect("an epoch"));
        // An answer may be lost with its connection, but nothing was started that the store does not know.
        assert!(starts.get(&run).is_none_or(|epochs| epochs.last() <= Some(&epoch)), "{run}");
    }
}

fn check(robot: &Robot, records: &[Record], times: usize) {
    assert!(records.len() > times);
    let mut seen = BTreeSet::new();
    for record in records {
        for pair in record.events.windows(2) {
            assert_eq!(pair[1].1, pair[0].1 + 1, "{}: a hole, or the wrong order", robot.handle);
        }
        seen.extend(record.events.iter().map(|(_, seq)| *seq));
    }
    let (first, last) = (*seen.first().expect("events"), *seen.last().expect("events"));
    assert_eq!(seen.len() as u64, last - first + 1, "{}: something was given to nobody", robot.handle);
    for (loser, winner) in records.iter().zip(&records[1..]) {
        assert_eq!(loser.code, Some(4015));
        if let Some((acked, _)) = loser.acked.last() {
            assert!(*acked <= winner.ready, "{}: a loser acknowledged", robot.handle);
        }
        if let (Some((late, seq)), Some((early, _))) = (loser.events.last(), winner.events.first()) {
            assert!(late <= early, "{}: a loser was given {seq} after the winner's first", robot.handle);
        }
    }
}

async fn of_one_agent(world: &World, robot: &Robot, over: watch::Receiver<bool>) -> Vec<Record> {
    let mut records = Vec::new();
    let mut holder: Option<JoinHandle<Record>> = None;
    while !*over.borrow() {
        let gateway = rand::rng().random_range(1..=2);
        let wire = robot.identify(world, gateway, "main").await;
        let fresh = tokio::spawn(work(wire));
        if let Some(loser) = holder.replace(fresh) {
            let ended = tokio::time::timeout(PATIENCE, loser).await.expect("the loser is told");
            records.push(ended.expect("a loser"));
        }
        let pause = rand::rng().random_range(0..80);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    // One more, so that the last of those above has lost too.
    let winner = robot.identify(world, 1, "main").await;
    records.push(holder.expect("a holder").await.expect("the last holder"));
    drop(winner);
    records
}

/// Works until the connection is closed.
async fn work(mut wire: Wire) -> Record {
    let mut record = Record {
        ready: Instant::now(),
        events: Vec::new(),
        acked: Vec::new(),
        started: BTreeSet::new(),
        code: None,
    };
    loop {
        match wire.received().await {
            Ok(ServerFrame::Event(event)) => {
                record.events.push((Instant::now(), event.seq));
                if event.kind == "run.requested" {
                    let run_id = run_of(&event).0;
                    drop(wire.try_say(&ClientFrame::RunStart(RunStart { run_id })).await);
                }
                if rand::rng().random_bool(0.5) {
                    drop(wire.try_say(&ClientFrame::Ack(Ack { seq: event.seq })).await);
                }
            }
            Ok(ServerFrame::Acked(acked)) => record.acked.push((Instant::now(), acked.seq)),
            Ok(ServerFrame::Run(run)) if run.status == "running" => {
                // Asked twice in one session, it is told twice of the one start.
                record.started.insert((run.run_id, run.epoch));
                let finish = RunFinish {
                    run_id: run.run_id,
                    epoch: run.epoch,
                    status: "succeeded".to_owned(),
                    ops: None,
                    error: None,
                };
                drop(wire.try_say(&ClientFrame::RunFinish(finish)).await);
            }
            Ok(_) => {}
            Err(client::SocketError::Closed { code, .. }) => {
                record.code = code;
                return record;
            }
            Err(_) => return record,
        }
    }
}

/// Mentions an agent after the other from one gateway, until told to stop.
async fn mention(
    world: Arc<World>,
    person: Person,
    gateway: usize,
    rooms: Vec<(RoomId, String)>,
    stopped: watch::Receiver<bool>,
) {
    let mut wire = world.connect(&person, gateway).await;
    let mut count = 0;
    while !*stopped.borrow() {
        for (room, handle) in &rooms {
            count += 1;
            let nonce = format!("{gateway}-{count}");
            wire.say(&message(*room, &format!("@{handle} do {count}"), &nonce)).await;
            wire.find(|frame| match frame {
                ServerFrame::Sent(sent) if sent.nonce == nonce => Some(()),
                ServerFrame::Error(error) => panic!("{error:?}"),
                _ => None,
            })
            .await;
        }
        // Faster, it would ask for more than is done meanwhile, and what is left in the end would grow with the machine's slowness.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
