//! Presence: what it costs that everybody's is known, and how soon others see it change.
//!
//! People on gateway 1 of whom nobody does anything, once with the settings as they come and once with a long pause between two
//! flushes. What the first takes more is what presence takes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clap::Args;
use client::Api;
use domain::{DeviceKind, UserId};
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use protocol::frame::{Focus, PresenceStatus, Subject};
use protocol::{ClientFrame, ServerFrame};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::micros;
use crate::cluster::{Cluster, Shape};
use crate::ground::Ground;
use crate::people::{self, Attended, Person};
use crate::report::{Report, Unit, histogram};
use crate::whole::{CLIENTS, PAUSE, SECONDS, whole};
use crate::{Failure, database, usage};

/// Counts rows that a node wrote.
const ROWS: &str = "switchboard_presence_rows_written_total";

/// People of one room.
const ROOM: usize = 10;

/// How long a change may take to be seen.
const PATIENCE: Duration = Duration::from_secs(180);

/// Between the changes of two people: all phases of a flush are met.
const GAP: Duration = Duration::from_millis(97);

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Live connections of people; each number is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "5000,10000", value_parser = whole::<usize>(CLIENTS))]
    connections: Vec<usize>,
    /// How long nothing happens before it is measured, in seconds.
    #[arg(long, default_value_t = 20, value_parser = whole::<u64>(PAUSE))]
    settle: u64,
    /// How long it is measured, in seconds.
    #[arg(long, default_value_t = 120, value_parser = whole::<u64>(SECONDS))]
    seconds: u64,
    /// Seconds between two flushes of what it is compared with, at most a minute; 0: it is not compared.
    #[arg(long, default_value_t = 60, value_parser = whole::<u64>(0..=60))]
    rare: u64,
    /// People who fall idle and come back, seen by one person.
    #[arg(long, default_value_t = 150, value_parser = whole::<usize>(CLIENTS))]
    changes: usize,
}

/// Measures presence of so many live connections, of each number by itself.
pub(crate) async fn presence(
    ground: &Ground,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    ground.program()?;
    usage::enough_files("--connections", settings.connections.iter().max().copied().unwrap_or_default())?;
    for connections in &settings.connections {
        measured(ground, *connections, settings, report).await?;
    }
    Ok(())
}

async fn measured(
    ground: &Ground,
    connections: usize,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    let shape = Shape { api: 1, worker: 1, ..Shape::default() };
    let (mut cost, mut rare) = (None, None);
    ground
        .on_cluster(&shape, async |cluster| {
            let mut stage = Stage::set(cluster, connections, settings).await?;
            cost = Some(stage.cost(settings).await?);
            let changes = stage.changes().await?;
            let what = format!("{connections} connections: idle or back on gateway 1 to frame on gateway 2");
            report.latencies(&format!("c{connections}.seen"), &what, &changes);
            Ok(())
        })
        .await?;
    if settings.rare > 0 {
        let shape = Shape { settings: rarely(Duration::from_secs(settings.rare)), ..shape };
        ground
            .on_cluster(&shape, async |cluster| {
                rare = Some(Stage::set(cluster, connections, settings).await?.cost(settings).await?);
                Ok(())
            })
            .await?;
    }
    cost.ok_or("it was not measured")?.report(connections, rare.as_ref(), settings, report);
    Ok(())
}

/// Settings with which presence is written rarely. What is to be told of the first flush is told at once, rather than over the next ten.
fn rarely(interval: Duration) -> Vec<(&'static str, String)> {
    let interval = format!("{}ms", interval.as_millis());
    [
        ("SWITCHBOARD__CLUSTER__PRESENCE_FLUSH_INTERVAL", interval.as_str()),
        ("SWITCHBOARD__CLUSTER__PRESENCE_TTL", "1h"),
        ("SWITCHBOARD__PRESENCE__MAX_CHANGES_PER_FLUSH", "100000"),
    ]
    .map(|(key, value)| (key, value.to_owned()))
    .to_vec()
}

/// What was used while nothing happened.
struct Cost {
    rows: f64,
    gateway: Duration,
    postgres: Duration,
    worker: Duration,
    bloat: Bloat,
}

impl Cost {
    fn report(&self, connections: usize, rare: Option<&Self>, settings: &Settings, report: &mut Report) {
        let time = settings.seconds as f64;
        let name = |what: &str| format!("c{connections}.{what}");
        let say = |what: &str| format!("{connections} connections: {what}");
        let what = say("rows of presence written per second");
        report.figure(name("rows"), what, self.rows / time, Unit::Count);
        if let Some(rare) = rare {
            let what = say(&format!("the same with a flush every {} s", settings.rare));
            report.figure(name("rows_rarely"), what, rare.rows / time, Unit::Count);
        }
        let shares = [
            ("gateway", self.gateway, rare.map(|rare| rare.gateway)),
            ("PostgreSQL", self.postgres, rare.map(|rare| rare.postgres)),
            ("worker", self.worker, rare.map(|rare| rare.worker)),
        ];
        for (whose, with, without) in shares {
            let [with, without] =
                [Some(with), without].map(|used| used.map(|used| used.as_secs_f64() / time * 100.0));
            let all = with.unwrap_or_default();
            let what = say(&format!("processor time of the {whose}, presence and all"));
            report.figure(name(&format!("all.{whose}")), what, all, Unit::PercentOfCore);
            if let Some(without) = without {
                let what = say(&format!("presence takes of the {whose}"));
                report.figure(name(&format!("presence.{whose}")), what, all - without, Unit::PercentOfCore);
            }
        }
        let Bloat { bytes, dead, updates, hot } = self.bloat;
        report.figure(name("table"), say("gateway_presence after that"), bytes as f64, Unit::Bytes);
        report
            .note(say("its updates"), format!("{dead} dead rows, {hot} of {updates} updates in place (HOT)"));
    }
}

/// What the table of live connections is like.
struct Bloat {
    bytes: i64,
    dead: i64,
    updates: i64,
    hot: i64,
}

/// A cluster with everybody connected.
struct Stage<'a> {
    cluster: &'a Cluster,
    client: Client,
    _driving: database::Driving,
    /// On gateway 1; the first share a room with somebody on gateway 2.
    crowd: Vec<Attended>,
    seen_by: Attended,
    /// Those of the crowd who are seen.
    changing: Vec<UserId>,
    /// What they are seen as.
    seen: mpsc::UnboundedReceiver<(UserId, PresenceStatus, Instant)>,
}

impl<'a> Stage<'a> {
    async fn set(cluster: &'a Cluster, connections: usize, settings: &Settings) -> Result<Self, Failure> {
        let (client, driving) = database::connect(cluster.database_url()?).await?;
        let api = Api::new(&cluster.api[0].url)?;
        eprintln!("{connections} people come ...");
        let people: Vec<Person> = stream::iter(0..connections)
            .map(|_| people::register(&api, DeviceKind::Web))
            .buffered(16)
            .try_collect()
            .await?;
        for room in people.chunks(ROOM) {
            people::room(&room.iter().collect::<Vec<_>>()).await?;
        }
        let watcher = people::register(&api, DeviceKind::Web).await?;
        let changing: Vec<&Person> = people.iter().take(settings.changes).collect();
        people::room(&[&[&watcher], changing.as_slice()].concat()).await?;
        let (tell, seen) = mpsc::unbounded_channel();
        let seen_by = Attended::connect(&watcher, &cluster.gateway[1].url, move |frame| {
            if let ServerFrame::Presence(presence) = frame
                && let Subject::User(user) = presence.subject
            {
                // Nobody listens any more when it ends.
                let _ = tell.send((UserId(user), presence.status, Instant::now()));
            }
        })
        .await?;
        let gateway = cluster.gateway[0].url.as_str();
        let crowd: Vec<Attended> = stream::iter(&people)
            .map(|person| Attended::connect(person, gateway, |_| {}))
            .buffered(32)
            .try_collect()
            .await?;
        let changing = changing.into_iter().map(|person| person.id).collect();
        people::until_known(&client, people.iter().chain([&watcher]).map(|person| person.id)).await?;
        let stage = Self { cluster, client, _driving: driving, crowd, seen_by, changing, seen };
        eprintln!("{connections} connections are known; at rest for {} s ...", settings.settle);
        tokio::time::sleep(Duration::from_secs(settings.settle)).await;
        Ok(stage)
    }

    async fn used(&self) -> Result<(f64, [Duration; 3]), Failure> {
        let [gateway, worker] = [&self.cluster.gateway[0], &self.cluster.worker[0]];
        let postmaster = database::postmaster(&self.client).await?;
        let processor = [
            usage::processor(gateway.pid)?,
            usage::processor_with_children(postmaster)?,
            usage::processor(worker.pid)?,
        ];
        Ok((gateway.metric(ROWS).await?, processor))
    }

    async fn cost(&self, settings: &Settings) -> Result<Cost, Failure> {
        let (rows, before) = self.used().await?;
        tokio::time::sleep(Duration::from_secs(settings.seconds)).await;
        let (rows_after, after) = self.used().await?;
        for connection in self.crowd.iter().chain([&self.seen_by]) {
            connection.check()?;
        }
        let used = |n: usize| after[n].saturating_sub(before[n]);
        let row = self.client.query_one(include_str!("../../sql/own/presence_size.sql"), &[]).await?;
        let bloat = Bloat {
            bytes: row.try_get(0)?,
            dead: row.try_get(1)?,
            hot: row.try_get(2)?,
            updates: row.try_get(3)?,
        };
        Ok(Cost { rows: rows_after - rows, gateway: used(0), postgres: used(1), worker: used(2), bloat })
    }

    /// One after the other falls idle, and when all are seen so they come back: how long each takes to be seen.
    async fn changes(&mut self) -> Result<Histogram<u64>, Failure> {
        let mut latencies = histogram();
        for (idle, status) in [(true, PresenceStatus::Idle), (false, PresenceStatus::Online)] {
            while self.seen.try_recv().is_ok() {}
            let mut due = HashMap::new();
            let begin = Instant::now();
            for (n, (user, connection)) in (0..).zip(self.changing.iter().zip(&self.crowd)) {
                tokio::time::sleep_until((begin + GAP * n).into()).await;
                due.insert(*user, Instant::now());
                let focus = Focus { room_id: None, idle };
                connection.outgoing.send(&ClientFrame::Focus(focus)).await?;
            }
            let end = Instant::now() + PATIENCE;
            while !due.is_empty() {
                let seen = tokio::time::timeout_at(end.into(), self.seen.recv()).await;
                let late = || format!("{} people are not seen as {status:?} after {PATIENCE:?}", due.len());
                let (user, seen_as, at) = seen.map_err(|_| late())?.ok_or("nobody watches")?;
                if seen_as == status
                    && let Some(since) = due.remove(&user)
                {
                    latencies.record(micros(at.duration_since(since)).max(1))?;
                }
            }
        }
        Ok(latencies)
    }
}
