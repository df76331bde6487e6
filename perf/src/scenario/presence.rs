//! Presence: what it costs that everybody's is known, and how soon others see it change.
//!
//! People on gateway 1 of whom nobody does anything, once with the settings as they come and once with a long pause between two
//! flushes. What the first takes more is what presence takes.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use client::Api;
use domain::{DeviceKind, UserId};
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use protocol::frame::{Focus, PresenceStatus, Subject};
use protocol::{ClientFrame, ServerFrame};
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::micros;
use crate::cluster::{Cluster, Shape};
use crate::people::{self, Attended, Person};
use crate::report::{Report, histogram};
use crate::{Failure, database, usage};

/// Counts rows that a node wrote.
const ROWS: &str = "switchboard_presence_rows_written_total";

/// People of one room.
const ROOM: usize = 10;

/// How long everybody may take to be known as there, and a change to be seen.
const PATIENCE: Duration = Duration::from_secs(180);

/// Between the changes of two people: all phases of a flush are met.
const GAP: Duration = Duration::from_millis(97);

/// How often what has no bell is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What is measured.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How long nothing happens before it is measured.
    pub(crate) settle: Duration,
    /// How long it is measured.
    pub(crate) time: Duration,
    /// Between two flushes of what it is compared with.
    pub(crate) rare: Duration,
    /// People who fall idle and come back.
    pub(crate) changes: usize,
}

/// Measures presence of so many live connections.
pub(crate) async fn presence(
    program: &Path,
    connections: usize,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    let shape = Shape { api: 1, worker: 1, ..Shape::default() };
    let mut stage = Stage::set(program, &shape, connections, settings).await?;
    let cost = stage.cost(settings).await?;
    let changes = stage.changes().await?;
    stage.end().await?;
    let shape = Shape { settings: rarely(settings.rare), ..shape };
    let stage = Stage::set(program, &shape, connections, settings).await?;
    let rare = stage.cost(settings).await?;
    stage.end().await?;
    let row = |report: &mut Report, what: &str, figure: String| {
        report.row(format!("{connections} connections: {what}"), figure);
    };
    let rows = |cost: &Cost| cost.rows / settings.time.as_secs_f64();
    row(report, "rows of presence written per second", format!("{:.0}", rows(&cost)));
    row(report, &format!("the same with a flush every {:?}", settings.rare), format!("{:.0}", rows(&rare)));
    let shares = [
        ("gateway", cost.gateway, rare.gateway),
        ("PostgreSQL", cost.postgres, rare.postgres),
        ("worker", cost.worker, rare.worker),
    ];
    for (whose, with, without) in shares {
        let [with, without] =
            [with, without].map(|time| time.as_secs_f64() / settings.time.as_secs_f64() * 100.0);
        let figure = format!("{:.2}% of a core ({with:.2}%, written rarely {without:.2}%)", with - without);
        row(report, &format!("presence takes of the {whose}"), figure);
    }
    let Bloat { bytes, dead, updates, hot } = cost.bloat;
    let figure = format!("{} KiB, {dead} dead rows, {hot} of {updates} updates in place (HOT)", bytes / 1024);
    row(report, "gateway_presence after that", figure);
    report.latencies(
        &format!("{connections} connections: idle or back on gateway 1 to frame on gateway 2"),
        &changes,
    );
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

/// What the table of live connections is like.
struct Bloat {
    bytes: i64,
    dead: i64,
    updates: i64,
    hot: i64,
}

/// A cluster with everybody connected.
struct Stage {
    cluster: Cluster,
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

impl Stage {
    async fn set(
        program: &Path,
        shape: &Shape,
        connections: usize,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let cluster = Cluster::start(program, shape).await?;
        let (client, driving) = database::connect(&cluster.database_url).await?;
        let api = Api::new(&cluster.api[0].url)?;
        let people: Vec<Person> = stream::iter(0..connections)
            .map(|n| (api.clone(), format!("person{n}")))
            .map(|(api, handle)| async move { people::register(&api, &handle, DeviceKind::Web).await })
            .buffered(16)
            .try_collect()
            .await?;
        for room in people.chunks(ROOM) {
            people::room(&room.iter().collect::<Vec<_>>()).await?;
        }
        let watcher = people::register(&api, "watcher", DeviceKind::Web).await?;
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
        let stage = Self { cluster, client, _driving: driving, crowd, seen_by, changing, seen };
        stage.until_known().await?;
        eprintln!("{connections} connections are known; at rest for {:?} ...", settings.settle);
        tokio::time::sleep(settings.settle).await;
        Ok(stage)
    }

    /// Waits until every connection has its row.
    async fn until_known(&self) -> Result<(), Failure> {
        let all = i64::try_from(self.crowd.len() + 1)?;
        let end = Instant::now() + PATIENCE;
        loop {
            let row = self.client.query_one(include_str!("../../sql/own/presence.sql"), &[]).await?;
            let known: i64 = row.try_get(0)?;
            if known >= all {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(format!("{known} of {all} connections are known after {PATIENCE:?}").into());
            }
            tokio::time::sleep(LOOK).await;
        }
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
        tokio::time::sleep(settings.time).await;
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

    /// Everybody leaves before it stops.
    async fn end(self) -> Result<(), Failure> {
        drop((self.crowd, self.seen_by, self.client));
        self.cluster.stop().await
    }
}
