//! A storm of reconnects: all clients of gateway 1 lose their connections at once, messages are sent meanwhile, and all resume on gateway 2 at
//! the same moment, without the jitter that `hello` asks for. A client is back when it is live and has what it missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use client::api::NewMessage;
use client::socket::{Connector, Incoming, Outgoing};
use client::{Api, Credential};
use domain::{DeviceKind, RoomId};
use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use protocol::frame::{Cursors, Identify, Ready, Resume, Slot};
use protocol::{ClientFrame, Encoding, ServerFrame};
use serde::Serialize;

use super::{limits, micros};
use crate::cluster::{Cluster, Shape};
use crate::ground::Ground;
use crate::people::{self, Person};
use crate::report::{Report, Unit, histogram};
use crate::whole::{CLIENTS, whole};
use crate::{Failure, database, usage};

/// People of one room.
const ROOM: usize = 50;

/// How long a client tries to come back.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(60);

/// The wait before the second attempt; it doubles up to [`LONGEST`].
const BACKOFF: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(4);

/// How often sessions of the database are counted.
const LOOK: Duration = Duration::from_millis(50);

/// The histogram of waits for a connection to the database, and its bucket of those that timed out (`database.pool_wait`).
const POOL_WAIT: &str = "switchboard_db_pool_wait_seconds";
const POOL_LIMIT: &str = r#"switchboard_db_pool_wait_seconds_bucket{le="5"}"#;

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Clients.
    #[arg(long, default_value_t = 5000, value_parser = whole::<usize>(CLIENTS))]
    connections: usize,
    /// Messages that each room gets while nobody is connected.
    #[arg(long, default_value_t = 5, value_parser = whole::<u32>(0..=10_000))]
    missed: u32,
}

/// Measures a storm.
pub(crate) async fn storm(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    usage::enough_files("--connections", settings.connections)?;
    ground
        .on_cluster(&Shape::default(), async |cluster| {
            let clients = gather(cluster, settings.connections).await?;
            let clients = disconnect(cluster, clients, settings.missed).await?;
            resume(cluster, clients, settings.missed, report).await
        })
        .await
}

/// Somebody who was connected, and where.
struct Client {
    person: Person,
    room: RoomId,
    ready: Box<Ready>,
}

/// Connects all to gateway 1.
async fn gather(cluster: &Cluster, connections: usize) -> Result<Vec<(Client, Open)>, Failure> {
    let api = Api::new(&cluster.api[0].url)?;
    let people: Vec<Person> = stream::iter(0..connections)
        .map(|_| cluster.person_by(&api, DeviceKind::Web))
        .buffered(16)
        .try_collect()
        .await?;
    let mut connecting = Vec::new();
    for chunk in chunks(people) {
        let room = people::room(&chunk.iter().collect::<Vec<_>>()).await?;
        connecting.extend(chunk.into_iter().map(|person| (person, room)));
    }
    eprintln!("{connections} people are there; they connect ...");
    let connect = |(person, room): (Person, RoomId)| async move {
        let identify =
            Identify { slot: Slot::Device(person.device.0), cursors: Cursors::default(), log_epoch: None };
        let back = come(&person, &cluster.gateway[0].url, &ClientFrame::Identify(identify), None).await?;
        Ok::<_, Failure>((Client { person, room, ready: back.ready }, back.open))
    };
    stream::iter(connecting).map(connect).buffered(32).try_collect().await
}

/// In groups of a room.
fn chunks(people: Vec<Person>) -> Vec<Vec<Person>> {
    let mut groups: Vec<Vec<Person>> = Vec::new();
    for person in people {
        match groups.last_mut() {
            Some(group) if group.len() < ROOM => group.push(person),
            _ => groups.push(vec![person]),
        }
    }
    groups
}

/// All connections end, and each room gets messages.
async fn disconnect(
    cluster: &Cluster,
    clients: Vec<(Client, Open)>,
    missed: u32,
) -> Result<Vec<Client>, Failure> {
    let (clients, open): (Vec<Client>, Vec<Open>) = clients.into_iter().unzip();
    drop(open);
    let mut last = None;
    for client in &clients {
        if last.replace(client.room) == Some(client.room) {
            continue;
        }
        for _ in 0..missed {
            let api = client.person.api.at(&cluster.api[1].url)?;
            api.send_message(client.room, &NewMessage::new(limits::BODY)).await?;
        }
    }
    Ok(clients)
}

/// A connection that stays open as long as both halves are there.
type Open = (Outgoing, Incoming);

/// A client that is connected again.
struct Back {
    open: Open,
    ready: Box<Ready>,
    /// Messages that it was given before `live`.
    caught_up: u32,
}

/// One attempt: connects, says the frame, and reads until `live` and, of this room, so many messages.
async fn come(
    person: &Person,
    gateway: &str,
    first: &ClientFrame,
    wanted: Option<(RoomId, u32)>,
) -> Result<Back, Failure> {
    let token = person.api.access_token().ok_or("not signed in")?;
    let connector = Connector::default().with_deadline(ATTEMPT);
    let socket = connector.connect(gateway, &Credential::Bearer(token), Encoding::Json).await?;
    let (outgoing, mut incoming) = socket.split();
    outgoing.send(first).await?;
    let (mut ready, mut caught_up, mut live) = (None, 0, false);
    let stream = wanted.map(|(room, _)| format!("room:{}", room.0));
    let enough = wanted.map_or(0, |(_, messages)| messages);
    while !live || caught_up < enough {
        match incoming.receive().await? {
            ServerFrame::Ready(came) => ready = Some(came),
            ServerFrame::Live => live = true,
            ServerFrame::Event(event)
                if event.kind == "message.created" && Some(&event.stream) == stream.as_ref() =>
            {
                caught_up += 1;
            }
            ServerFrame::Gap(gap) => return Err(format!("a gap in {}", gap.stream).into()),
            ServerFrame::Error(error) => return Err(format!("{}: {}", error.code, error.detail).into()),
            _ => {}
        }
    }
    Ok(Back { open: (outgoing, incoming), ready: ready.ok_or("live without ready")?, caught_up })
}

/// All come back to gateway 2 at once.
async fn resume(
    cluster: &Cluster,
    clients: Vec<Client>,
    missed: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let gateway = &cluster.gateway[1];
    let before = gateway.metrics().await.ok();
    let over = Arc::new(AtomicBool::new(false));
    let sessions = tokio::spawn(peak(cluster.database_url().map(str::to_owned).ok(), Arc::clone(&over)));
    let repeated = Arc::new(AtomicU64::new(0));
    let count = clients.len();
    eprintln!("{count} clients come back at once ...");
    let begin = Instant::now();
    let coming: Vec<_> = clients
        .into_iter()
        .map(|client| {
            tokio::spawn(returning(client, gateway.url.clone(), missed, begin, Arc::clone(&repeated)))
        })
        .collect();
    let (mut latencies, mut open, mut gave_up) = (histogram(), Vec::new(), 0_u32);
    let mut why = None;
    for one in join_all(coming).await {
        match one? {
            Ok((back, took)) => {
                latencies.record(micros(took).max(1))?;
                open.push(back.open);
            }
            Err(error) => {
                gave_up += 1;
                why = Some(error.to_string());
            }
        }
    }
    over.store(true, Ordering::Relaxed);
    report.latencies(
        "back",
        &format!("{count} clients at once: connected, live and caught up again"),
        &latencies,
    );
    report.figure("not_back", format!("clients not back after {PATIENCE:?}"), gave_up.into(), Unit::Faults);
    if let Some(why) = why {
        report.note("why one is not back", why);
    }
    let repeated = repeated.load(Ordering::Relaxed);
    report.figure("attempts_repeated", "attempts that had to be repeated", repeated as f64, Unit::Faults);
    if let (Some(before), Ok(after)) = (before, gateway.metrics().await) {
        let timed_out = |page: &crate::metrics::Page| {
            page.histogram(POOL_WAIT).0 - page.value(POOL_LIMIT).unwrap_or_default()
        };
        let what = "waits for a connection of the database pool of 5 s and more";
        report.figure("pool_timeouts", what, timed_out(&after) - timed_out(&before), Unit::Faults);
        let most = after.most_since(&before, POOL_WAIT) * 1000.0;
        report.figure("pool_wait_below", "every wait for the pool was at most", most.min(1e9), Unit::Millis);
    }
    if let Some(most) = sessions.await? {
        report.figure(
            "database_sessions",
            "most sessions of the database in the storm",
            most as f64,
            Unit::Count,
        );
    }
    drop(open);
    Ok(())
}

async fn returning(
    client: Client,
    gateway: String,
    missed: u32,
    begin: Instant,
    repeated: Arc<AtomicU64>,
) -> Result<(Back, Duration), Failure> {
    let Client { person, room, ready } = client;
    let mut cursors = Cursors::default();
    for (stream, head) in &ready.streams {
        cursors.insert(stream.as_str(), *head)?;
    }
    let resume = ClientFrame::Resume(Resume {
        session_id: ready.session_id,
        cursors,
        log_epoch: Some(ready.log_epoch),
    });
    let mut wait = BACKOFF;
    loop {
        let attempt =
            tokio::time::timeout(ATTEMPT, come(&person, &gateway, &resume, Some((room, missed)))).await;
        match attempt {
            Ok(Ok(back)) if back.caught_up > missed => {
                return Err(format!("{} messages came instead of {missed}", back.caught_up).into());
            }
            Ok(Ok(back)) => return Ok((back, begin.elapsed())),
            Ok(Err(error)) if begin.elapsed() > PATIENCE => return Err(error),
            Err(_) if begin.elapsed() > PATIENCE => return Err("no answer".into()),
            _ => {}
        }
        repeated.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST);
    }
}

/// The most sessions of the database until it is over; none where the database is not ours.
async fn peak(url: Option<String>, over: Arc<AtomicBool>) -> Option<i64> {
    let (client, _driving) = database::connect(&url?).await.ok()?;
    let mut most = 0;
    while !over.load(Ordering::Relaxed) {
        let row = client.query_one(include_str!("../../sql/bare/sessions.sql"), &[]).await.ok()?;
        most = most.max(row.try_get(0).ok()?);
        tokio::time::sleep(LOOK).await;
    }
    Some(most)
}
