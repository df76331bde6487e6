//! Commits and notifications as sends and nodes grow: sends at a steady rate over all gateways, in rooms that have a member on each of them,
//! so that every event must become known to every other gateway. Beside it the same machine's bare commits, with a NOTIFY in each and without.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Args;
use domain::{DeviceKind, RoomId};
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use protocol::{ClientFrame, ServerFrame};
use serde::Serialize;
use tokio::task::JoinHandle;

use super::limits::{self, Telling};
use super::{message, micros};
use crate::Failure;
use crate::cluster::{Cluster, Shape};
use crate::database;
use crate::ground::Ground;
use crate::people::{self, Person};
use crate::report::{Report, Unit, histogram};
use crate::whole::{CLIENTS, RATE, SECONDS, whole};

/// How long after the last send the last acknowledgement may come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Sends a second, over all gateways; each rate is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "100,500,1000,2000,5000", value_parser = whole::<u32>(RATE))]
    rates: Vec<u32>,
    /// Gateways; each number is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "2,4", value_parser = whole::<usize>(1..=50))]
    gateways: Vec<usize>,
    /// Rooms that are written to.
    #[arg(long, default_value_t = 50, value_parser = whole::<usize>(CLIENTS))]
    rooms: usize,
    /// Connections of bare commits; each number is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64", value_parser = whole::<usize>(1..=150))]
    writers: Vec<usize>,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10, value_parser = whole::<u32>(SECONDS))]
    seconds: u32,
}

/// Measures each number of gateways at each rate, then bare commits.
pub(crate) async fn notify(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    ground.program()?;
    for gateways in &settings.gateways {
        let shape = Shape { gateway: *gateways, ..Shape::default() };
        ground
            .on_cluster(&shape, async |cluster| {
                let stage = Stage::set(cluster, settings.rooms).await?;
                for rate in &settings.rates {
                    stage.measured(cluster, *rate, settings, report).await?;
                }
                Ok(())
            })
            .await?;
    }
    bare(ground, settings, report).await
}

async fn bare(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    let time = Duration::from_secs(settings.seconds.into());
    let database = ground.database().await?;
    let url = database.renewed().await?;
    limits::prepare(&url).await?;
    limits::warm_up(&url, time).await?;
    let listeners = settings.gateways.iter().max().copied().unwrap_or(2);
    for &writers in &settings.writers {
        let heard = format!("each with a NOTIFY, {listeners} listeners");
        for (name, how, telling) in [
            ("silent", "without NOTIFY", Telling::Nobody),
            ("notify", heard.as_str(), Telling::Listeners(listeners)),
        ] {
            let rate = limits::commits(&url, writers, telling, time).await?;
            let what = format!("bare commits/s of one row, {writers} connections, {how}");
            report.figure(format!("bare.{name}.w{writers}"), what, rate, Unit::PerSecond);
        }
    }
    database.stop().await
}

/// Sends whose acknowledgement has not come: by nonce, when they were due.
type Due = Arc<Mutex<HashMap<String, Instant>>>;

/// A cluster with members of every room on every gateway.
struct Stage {
    senders: Vec<(client::socket::Outgoing, RoomId)>,
    due: Due,
    acknowledged: Arc<Mutex<Histogram<u64>>>,
    reading: Vec<JoinHandle<()>>,
}

impl Stage {
    async fn set(cluster: &Cluster, rooms: usize) -> Result<Self, Failure> {
        let mut stage = Self {
            senders: Vec::new(),
            due: Due::default(),
            acknowledged: Arc::new(Mutex::new(histogram())),
            reading: Vec::new(),
        };
        for _ in 0..rooms {
            let members: Vec<Person> = stream::iter(0..cluster.gateway.len())
                .map(|n| cluster.person(n, DeviceKind::Web))
                .buffered(8)
                .try_collect()
                .await?;
            let room = people::room(&members.iter().collect::<Vec<_>>()).await?;
            for (person, gateway) in members.iter().zip(&cluster.gateway) {
                stage.join(person, &gateway.url, room).await?;
            }
        }
        Ok(stage)
    }

    async fn join(&mut self, person: &Person, gateway: &str, room: RoomId) -> Result<(), Failure> {
        let (outgoing, mut incoming) = people::connect(person, gateway, person.device).await?.split();
        let (due, acknowledged) = (Arc::clone(&self.due), Arc::clone(&self.acknowledged));
        self.senders.push((outgoing, room));
        self.reading.push(tokio::spawn(async move {
            loop {
                match incoming.receive().await {
                    Ok(ServerFrame::Sent(sent)) => {
                        let due = due.lock().ok().and_then(|mut due| due.remove(&sent.nonce));
                        if let (Some(due), Ok(mut all)) = (due, acknowledged.lock()) {
                            all.saturating_record(micros(due.elapsed()).max(1));
                        }
                    }
                    Ok(ServerFrame::Error(error)) => eprintln!("perf: refused: {}", error.detail),
                    Ok(_) => {}
                    Err(error) => return eprintln!("perf: a connection ended: {error}"),
                }
            }
        }));
        Ok(())
    }

    async fn measured(
        &self,
        cluster: &Cluster,
        rate: u32,
        settings: &Settings,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let gateways = cluster.gateway.len();
        eprintln!("{rate} sends/s over {gateways} gateways ...");
        self.ping().await?;
        let before = Counts::read(cluster).await?;
        let took = self.load(rate, settings.seconds).await?.as_secs_f64();
        let counts = Counts::read(cluster).await?.since(&before);
        let latencies = self.acknowledged.lock().map(|mut all| std::mem::replace(&mut *all, histogram()));
        let latencies = latencies.map_err(|error| error.to_string())?;
        let missing = u64::from(rate * settings.seconds).saturating_sub(latencies.len());
        let name = |what: &str| format!("g{gateways}.r{rate}.{what}");
        let say = |what: &str| format!("{gateways} gateways, {rate} sends/s: {what}");
        report.latencies(&name("ack"), &say("due to acknowledged"), &latencies);
        report.figure(name("unacknowledged"), say("sends not acknowledged"), missing as f64, Unit::Faults);
        for (what, of, count) in [
            ("commits", "commits of the database a second", counts.commits),
            ("appends", "commits of sends a second", counts.appends),
            ("notified", "entries notified a second", counts.entries),
            ("notifies", "statements that notify a second", counts.statements),
        ] {
            // How many there are is a cost, and neither good nor bad by itself.
            report.figure(name(what), say(of), count / took, Unit::Count);
        }
        Ok(())
    }

    /// Keeps every connection alive.
    async fn ping(&self) -> Result<(), Failure> {
        for (outgoing, _) in &self.senders {
            outgoing.send(&ClientFrame::Ping).await?;
        }
        Ok(())
    }

    /// Sends at this rate; gives the time until the last acknowledgement.
    async fn load(&self, rate: u32, seconds: u32) -> Result<Duration, Failure> {
        let begin = Instant::now();
        for number in 0..rate * seconds {
            let due = begin + Duration::from_secs(1) / rate * number;
            tokio::time::sleep_until(due.into()).await;
            // Each room in turn, and of each another member every time.
            let each = self.senders.len();
            let (outgoing, room) = &self.senders[number as usize * 7 % each];
            let frame = message(*room, limits::BODY.into());
            if let (ClientFrame::Send(send), Ok(mut waiting)) = (&frame, self.due.lock()) {
                waiting.insert(send.nonce.clone(), due);
            }
            outgoing.send(&frame).await?;
        }
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && self.due.lock().is_ok_and(|due| !due.is_empty()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let took = begin.elapsed();
        if let Ok(mut due) = self.due.lock() {
            due.clear();
        }
        Ok(took)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for task in &self.reading {
            task.abort();
        }
    }
}

/// What the gateways and the database counted.
struct Counts {
    commits: f64,
    appends: f64,
    entries: f64,
    statements: f64,
}

impl Counts {
    async fn read(cluster: &Cluster) -> Result<Self, Failure> {
        let (client, _driving) = database::connect(cluster.database_url()?).await?;
        let row = client.query_one(include_str!("../../sql/bare/commits.sql"), &[]).await?;
        let commits = row.try_get::<_, i64>(0)? as f64;
        let mut counts = Self { commits, appends: 0.0, entries: 0.0, statements: 0.0 };
        for gateway in &cluster.gateway {
            let page = gateway.metrics().await?;
            counts.appends += page.histogram("switchboard_append_batch_size").0;
            counts.entries += page.value("switchboard_notify_sent_total").unwrap_or_default();
            counts.statements += page.histogram("switchboard_notify_batch_size").0;
        }
        Ok(counts)
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            commits: self.commits - before.commits,
            appends: self.appends - before.appends,
            entries: self.entries - before.entries,
            statements: self.statements - before.statements,
        }
    }
}
