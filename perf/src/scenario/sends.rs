//! Durable sends, each acknowledged before the sender's next, beside the bare inserts that the machine allows.

use std::time::{Duration, Instant};

use clap::Args;
use domain::{DeviceKind, RoomId};
use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use protocol::ServerFrame;
use serde::Serialize;

use super::limits::{self, Table};
use super::{message, micros};
use crate::cluster::{Cluster, Shape};
use crate::ground::Ground;
use crate::people::{self, Person};
use crate::report::{Report, Unit, histogram};
use crate::usage::Meter;
use crate::whole::{CLIENTS, SECONDS, whole};
use crate::{Failure, usage};

/// Nodes that write, and so connections that commit at once.
const NODES: usize = 2;

/// The histogram of sends in one commit.
const BATCH: &str = "switchboard_append_batch_size";

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Senders, each with one send under way; each number is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,256", value_parser = whole::<usize>(CLIENTS))]
    senders: Vec<usize>,
    /// Rooms they write to.
    #[arg(long, default_value_t = 50, value_parser = whole::<usize>(CLIENTS))]
    rooms: usize,
    /// Rows in a commit of bare inserts; each number is measured by itself.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,256", value_parser = whole::<usize>(1..=100_000))]
    batches: Vec<usize>,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10, value_parser = whole::<u32>(SECONDS))]
    seconds: u32,
    /// Senders to nodes that commit each send by itself; 0: that is not measured.
    #[arg(long, default_value_t = 64, value_parser = whole::<usize>(0..=100_000))]
    one_by_one: usize,
}

/// Measures sends with as many senders as are asked for, then without the combiner, then bare inserts.
pub(crate) async fn sends(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    let most = settings.senders.iter().chain([&settings.one_by_one]).max();
    usage::enough_files("--senders", most.copied().unwrap_or_default())?;
    let mut batches = Vec::new();
    ground
        .on_cluster(&Shape::default(), async |cluster| {
            for senders in &settings.senders {
                batches.push((*senders, measured("combined", cluster, *senders, settings, report).await?));
            }
            Ok(())
        })
        .await?;
    if settings.one_by_one > 0 && matches!(ground, Ground::Own(_)) {
        let alone = vec![("SWITCHBOARD__APPEND__MAX_BATCH", "1".to_owned())];
        let shape = Shape { settings: alone, ..Shape::default() };
        ground
            .on_cluster(&shape, async |cluster| {
                measured("one_by_one", cluster, settings.one_by_one, settings, report).await?;
                Ok(())
            })
            .await?;
    }
    bare(ground, settings, &batches, report).await
}

/// Bare inserts at fixed batches, and at those that were seen.
async fn bare(
    ground: &Ground,
    settings: &Settings,
    seen: &[(usize, Sent)],
    report: &mut Report,
) -> Result<(), Failure> {
    let time = Duration::from_secs(settings.seconds.into());
    let database = ground.database().await?;
    let url = database.renewed().await?;
    limits::prepare(&url).await?;
    limits::warm_up(&url, time).await?;
    for &batch in &settings.batches {
        let rate = limits::inserts(Table::Bare, &url, batch, NODES, time).await?;
        let what = format!("bare inserts, rows/s, {batch} in each commit, {NODES} connections");
        report.figure(format!("bare.b{batch}.rate"), what, rate, Unit::PerSecond);
        let rate = limits::inserts(Table::Log, &url, batch, NODES, time).await?;
        let what =
            format!("the same into a table with the columns and indexes of the log, {batch} in each commit");
        report.figure(format!("bare_log.b{batch}.rate"), what, rate, Unit::PerSecond);
    }
    for (senders, Sent { rate, batch }) in seen {
        let Some(batch) = batch else { continue };
        let bare = limits::inserts(Table::Bare, &url, (batch.round() as usize).max(1), NODES, time).await?;
        let what = format!("bare inserts, rows/s, in commits as large as with {senders} senders");
        report.figure(format!("bare.s{senders}.rate"), what, bare, Unit::PerSecond);
        let what = format!("sends of {senders} senders to that");
        report.figure(format!("combined.s{senders}.of_bare"), what, rate / bare * 100.0, Unit::Percent);
    }
    database.stop().await
}

/// What came of it.
struct Sent {
    rate: f64,
    /// Sends in one commit, on average, where that is known.
    batch: Option<f64>,
}

async fn measured(
    how: &str,
    cluster: &Cluster,
    senders: usize,
    settings: &Settings,
    report: &mut Report,
) -> Result<Sent, Failure> {
    eprintln!("{how}: {senders} senders ...");
    let before = commits(cluster).await;
    let Load { latencies, took, used } = load(cluster, senders, settings).await?;
    let rate = latencies.len() as f64 / took.as_secs_f64();
    let what = format!("durable sends/s, {senders} senders, {how}");
    report.figure(format!("{how}.s{senders}.rate"), what, rate, Unit::PerSecond);
    let what = format!("send to acknowledgement, {senders} senders, {how}");
    report.latencies(&format!("{how}.s{senders}.ack"), &what, &latencies);
    // A deployment elsewhere is not seen: then there is the load alone.
    for (process, time) in used.iter().filter(|_| used.len() > 1) {
        let what = format!("processor time of {process} for a million sends, {senders} senders, {how}");
        let each = time.as_secs_f64() * 1e6 / latencies.len().max(1) as f64;
        report.figure(format!("{how}.s{senders}.cpu.{process}"), what, each, Unit::SecondsPerMillion);
    }
    let mut batch = None;
    if let (Ok(before), Ok(after)) = (before, commits(cluster).await) {
        let mean = (after.1 - before.1) / (after.0 - before.0).max(1.0);
        let what = format!("sends in one commit, {senders} senders, {how}");
        report.figure(format!("{how}.s{senders}.batch"), what, mean, Unit::Count);
        batch = Some(mean);
    }
    Ok(Sent { rate, batch })
}

/// Commits of sends so far, and the sends in them.
async fn commits(cluster: &Cluster) -> Result<(f64, f64), Failure> {
    let (mut count, mut sum) = (0.0, 0.0);
    for gateway in &cluster.gateway {
        let (of_one, sends) = gateway.metrics().await?.histogram(BATCH);
        count += of_one;
        sum += sends;
    }
    Ok((count, sum))
}

/// What came of a load.
struct Load {
    latencies: Histogram<u64>,
    took: Duration,
    /// The processor time of each process, and of the load.
    used: Vec<(String, Duration)>,
}

async fn load(cluster: &Cluster, senders: usize, settings: &Settings) -> Result<Load, Failure> {
    let people: Vec<Person> = stream::iter(0..senders)
        .map(|n| cluster.person(n, DeviceKind::Web))
        .buffered(8)
        .try_collect()
        .await?;
    let rooms = rooms(&people, settings.rooms).await?;
    let mut sockets = Vec::new();
    for (n, person) in people.iter().enumerate() {
        sockets.push(people::connect(person, &cluster.gateway[n % NODES].url, person.device).await?.split());
    }
    let meter = Meter::start(&cluster.processes().await?)?;
    let began = Instant::now();
    let end = began + Duration::from_secs(settings.seconds.into());
    let mut sending = Vec::new();
    for ((outgoing, mut incoming), room) in sockets.into_iter().zip(rooms) {
        sending.push(tokio::spawn(async move {
            let mut own = histogram();
            while Instant::now() < end {
                let sent = Instant::now();
                outgoing.send(&message(room, limits::BODY.into())).await?;
                loop {
                    match incoming.receive().await? {
                        ServerFrame::Sent(_) => break,
                        ServerFrame::Error(error) => return Err(Failure::from(error.detail)),
                        _ => {}
                    }
                }
                own.record(micros(sent.elapsed()))?;
            }
            Ok(own)
        }));
    }
    let mut latencies = histogram();
    for one in join_all(sending).await {
        latencies.add(one??)?;
    }
    let (took, used) = (began.elapsed(), meter.used()?);
    Ok(Load { latencies, took, used })
}

/// The room of each: what is measured is the write path, not fan-out, so as few share one as can be.
async fn rooms(people: &[Person], rooms: usize) -> Result<Vec<RoomId>, Failure> {
    let mut room_of: Vec<RoomId> = Vec::new();
    for (n, person) in people.iter().enumerate() {
        if n < rooms {
            room_of.push(people::room(&[person]).await?);
            continue;
        }
        let (owner, room) = (&people[n % rooms], room_of[n % rooms]);
        if owner.id != person.id {
            owner.api.add_members(room, &[person.id]).await?;
        }
        room_of.push(room);
    }
    Ok(room_of)
}
