//! A rolling restart as clients see it: every gateway, then every api node, stops in order and starts again, one after the other, while one person
//! sends at a steady rate and all others of the room receive. Sessions come back by themselves, as those of any client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use client::{Api, Session, SessionSettings, SignIn, Update, Updates};
use domain::DeviceKind;
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use protocol::frame::Slot;
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::micros;
use crate::Failure;
use crate::cluster::{Cluster, Shape};
use crate::ground::Ground;
use crate::people::{self, Person};
use crate::report::{Report, Unit, histogram};
use crate::whole::{CLIENTS, PAUSE, RATE, whole};

/// How long after the last send the last event may come.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// People who receive.
    #[arg(long, default_value_t = 100, value_parser = whole::<usize>(CLIENTS))]
    clients: usize,
    /// Sends a second.
    #[arg(long, default_value_t = 100, value_parser = whole::<u32>(RATE))]
    rate: u32,
    /// How long nothing is restarted before, between and after, in seconds.
    #[arg(long, default_value_t = 5, value_parser = whole::<u64>(PAUSE))]
    settle: u64,
}

/// Measures a rolling restart of all nodes that face clients.
pub(crate) async fn restart(
    ground: &Ground,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    ground.program()?;
    ground.on_cluster(&Shape::default(), async |cluster| measured(cluster, settings, report).await).await
}

async fn measured(cluster: &Cluster, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    let people: Vec<Person> = stream::iter(0..=settings.clients)
        .map(|n| cluster.person(n, DeviceKind::Web))
        .buffered(8)
        .try_collect()
        .await?;
    let room = people::room(&people.iter().collect::<Vec<_>>()).await?;
    let start = Instant::now();
    let (sender, receivers) = people.split_first().ok_or("nobody is there")?;
    let mut listening = Vec::new();
    for (n, person) in receivers.iter().enumerate() {
        listening.push(Listener::open(cluster, person, n, start)?);
    }
    for listener in &listening {
        listener.session.live().await?;
    }
    // Nobody wants its updates: kept and not taken, they would be left out and asked for again and again.
    let (sending, _) = Session::open(session(cluster, sender, 0)?);
    sending.live().await?;
    let sending = Arc::new(sending);
    let stop = CancellationToken::new();
    let load = tokio::spawn(load(Arc::clone(&sending), room, settings.rate, start, stop.clone()));

    let settle = Duration::from_secs(settings.settle);
    tokio::time::sleep(settle).await;
    for node in cluster.gateway.iter().chain(&cluster.api) {
        eprintln!(
            "{} is restarted while {} sends/s go to {} clients ...",
            node.node, settings.rate, settings.clients
        );
        let began = Instant::now();
        cluster.restart(&node.node).await?;
        let took = began.elapsed().as_secs_f64() * 1000.0;
        let what = format!("{} stopped in order and started again", node.node);
        report.figure(format!("took.{}", node.node), what, took, Unit::Millis);
        tokio::time::sleep(settle).await;
    }
    stop.cancel();
    let sent = tokio::time::timeout(PATIENCE, load).await;
    let sent = sent.map_err(|_| format!("sends were not acknowledged within {PATIENCE:?}"))???;
    judge(listening, &sent, report).await?;
    sending.stop().await;
    Ok(())
}

fn session(cluster: &Cluster, person: &Person, n: usize) -> Result<SessionSettings, Failure> {
    // Half of them begin at each gateway.
    let count = cluster.gateway.len();
    let gateways = (0..count).map(|node| cluster.gateway[(n + node) % count].url.clone()).collect();
    let apis: Result<Vec<Api>, _> = cluster.api.iter().map(|node| person.api.at(&node.url)).collect();
    Ok(SessionSettings::new(gateways, SignIn::Tickets(apis?), Slot::Device(person.device.0)))
}

/// Sends that were acknowledged: when each was due, in microseconds.
type SentAt = Vec<u64>;

/// Sends at a steady rate until it is stopped; a send whose node goes is repeated by the session, under the same nonce.
async fn load(
    session: Arc<Session>,
    room: domain::RoomId,
    rate: u32,
    start: Instant,
    stop: CancellationToken,
) -> Result<SentAt, Failure> {
    let begin = Instant::now();
    let mut sending: Vec<JoinHandle<Result<u64, Failure>>> = Vec::new();
    for number in 0.. {
        let due = begin + Duration::from_secs(1) / rate * number;
        tokio::select! {
            () = tokio::time::sleep_until(due.into()) => {}
            () = stop.cancelled() => break,
        }
        let (session, due) = (Arc::clone(&session), micros(due.duration_since(start)));
        sending.push(tokio::spawn(async move {
            session.send(room, due.to_string()).await?;
            Ok(due)
        }));
    }
    let mut sent = Vec::new();
    for one in sending {
        sent.push(one.await??);
    }
    Ok(sent)
}

/// What one client received: when each was due, and how long it took; those that came again too.
#[derive(Default)]
struct Received {
    took: HashMap<u64, u64>,
    doubled: u64,
    faults: Vec<String>,
}

struct Listener {
    session: Session,
    received: Arc<Mutex<Received>>,
    reading: JoinHandle<()>,
}

impl Listener {
    fn open(cluster: &Cluster, person: &Person, n: usize, start: Instant) -> Result<Self, Failure> {
        let (session, updates) = Session::open(session(cluster, person, n)?);
        let received = Arc::new(Mutex::new(Received::default()));
        let reading = tokio::spawn(read(updates, Arc::clone(&received), start));
        Ok(Self { session, received, reading })
    }

    fn has(&self, count: usize) -> bool {
        self.received.lock().is_ok_and(|received| received.took.len() >= count)
    }
}

async fn read(mut updates: Updates, received: Arc<Mutex<Received>>, start: Instant) {
    #[derive(serde::Deserialize)]
    struct Data {
        body: String,
    }
    while let Some(update) = updates.next().await {
        let Ok(mut received) = received.lock() else { return };
        match update {
            Update::Event(event) if event.kind == "message.created" => {
                let body = serde_json::from_str::<Data>(event.data.get()).map(|data| data.body);
                let Some(due) = body.ok().and_then(|body| body.parse().ok()) else { continue };
                let took = micros(start.elapsed()).saturating_sub(due).max(1);
                if received.took.insert(due, took).is_some() {
                    received.doubled += 1;
                }
            }
            Update::Fault(fault) => received.faults.push(fault.to_string()),
            Update::Gap(gap) => received.faults.push(format!("a gap in {}", gap.stream)),
            _ => {}
        }
    }
}

async fn judge(listening: Vec<Listener>, sent: &[u64], report: &mut Report) -> Result<(), Failure> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end && !listening.iter().all(|listener| listener.has(sent.len())) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (mut latencies, mut lost, mut doubled, mut faults) = (histogram(), 0_u64, 0, Vec::new());
    for listener in listening {
        listener.session.stop().await;
        listener.reading.await?;
        let received = listener.received.lock().map_err(|error| error.to_string())?;
        lost += sent.iter().filter(|due| !received.took.contains_key(*due)).count() as u64;
        doubled += received.doubled;
        faults.extend(received.faults.iter().cloned());
        add(&mut latencies, &received)?;
    }
    report.latencies("delivery", "send due to event received, all nodes restarted meanwhile", &latencies);
    let gap = latencies.max() as f64;
    report.figure("longest_gap", "longest gap that a client saw", gap, Unit::Micros);
    report.figure("lost", "acknowledged events that a client never had", lost as f64, Unit::Faults);
    report.figure("doubled", "events that a client was given twice", doubled as f64, Unit::Faults);
    report.figure(
        "faults",
        "holes, duplicates and gaps that sessions saw",
        faults.len() as f64,
        Unit::Faults,
    );
    if let Some(first) = faults.first() {
        report.note("the first of them", first.clone());
    }
    Ok(())
}

fn add(latencies: &mut Histogram<u64>, received: &Received) -> Result<(), Failure> {
    for took in received.took.values() {
        latencies.record(*took)?;
    }
    Ok(())
}
