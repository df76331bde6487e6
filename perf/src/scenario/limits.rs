//! What the same machine allows to whoever does nothing else: commits, commits that notify, and an echo.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt};
use hdrhistogram::Histogram;
use tokio_postgres::NoTls;
use uuid::Uuid;

use super::micros;
use crate::bare::Process;
use crate::report::{Report, Unit, histogram};
use crate::usage::{Counted, Meter};
use crate::{Failure, database, wire};

/// A message of about the usual length.
pub(super) const BODY: &str = "a message of about the usual length, forty bytes";

/// Connections that echo at once.
const ECHOES: usize = 16;

/// What is written to.
#[derive(Clone, Copy)]
pub(super) enum Table {
    /// The least that keeps a message.
    Bare,
    /// With the columns and indexes of Switchboard's log, and nothing that decides what goes in.
    Log,
}

/// Makes the tables that are written to.
pub(super) async fn prepare(url: &str) -> Result<(), Failure> {
    let (client, _driving) = database::connect(url).await?;
    client.batch_execute(include_str!("../../sql/bare/schema.sql")).await?;
    Ok(client.batch_execute(include_str!("../../sql/bare/log_schema.sql")).await?)
}

/// Writes for a while, at most some seconds: a new server has yet to make the files of its log.
pub(super) async fn warm_up(url: &str, time: Duration) -> Result<(), Failure> {
    inserts(Table::Bare, url, 256, 2, time.min(Duration::from_secs(3))).await?;
    let (client, _driving) = database::connect(url).await?;
    Ok(client.batch_execute("CHECKPOINT").await?)
}

/// Rounds of which the best counts: a limit is what can be, and disks have bad moments.
const ROUNDS: u32 = 3;

/// Rows a second, in commits of `batch` rows by each of `connections` connections.
pub(super) async fn inserts(
    table: Table,
    url: &str,
    batch: usize,
    connections: usize,
    time: Duration,
) -> Result<f64, Failure> {
    let mut best: f64 = 0.0;
    for _ in 0..ROUNDS {
        best = best.max(inserts_once(table, url, batch, connections, time / ROUNDS).await?);
    }
    Ok(best)
}

async fn inserts_once(
    table: Table,
    url: &str,
    batch: usize,
    connections: usize,
    time: Duration,
) -> Result<f64, Failure> {
    let begin = Instant::now();
    let one = async |_| {
        let (client, _driving) = database::connect(url).await?;
        let insert = client.prepare(table.insert()).await?;
        let (stream, mut seq) = (Uuid::now_v7(), 0_i64);
        let bodies = vec![BODY; batch];
        let mut rows = 0;
        while begin.elapsed() < time {
            rows += match table {
                Table::Bare => client.execute(&insert, &[&bodies]).await?,
                Table::Log => {
                    let ids: Vec<Uuid> = (0..batch).map(|_| Uuid::now_v7()).collect();
                    let nonces: Vec<String> = ids.iter().map(Uuid::to_string).collect();
                    client.execute(&insert, &[&stream, &seq, &ids, &nonces, &bodies]).await?
                }
            };
            seq += i64::try_from(batch)?;
        }
        Ok::<u64, Failure>(rows)
    };
    let rows: u64 = try_join_all((0..connections).map(one)).await?.into_iter().sum();
    Ok(rows as f64 / begin.elapsed().as_secs_f64())
}

impl Table {
    const fn insert(self) -> &'static str {
        match self {
            Self::Bare => include_str!("../../sql/bare/insert.sql"),
            Self::Log => include_str!("../../sql/bare/log_insert.sql"),
        }
    }
}

/// Who hears of commits.
#[derive(Clone, Copy)]
pub(super) enum Telling {
    Nobody,
    /// So many connections that listen; each commit notifies.
    Listeners(usize),
}

/// Commits a second of one message each, by so many connections.
pub(super) async fn commits(
    url: &str,
    connections: usize,
    telling: Telling,
    time: Duration,
) -> Result<f64, Failure> {
    let mut best: f64 = 0.0;
    for _ in 0..ROUNDS {
        best = best.max(commits_once(url, connections, telling, time / ROUNDS).await?);
    }
    Ok(best)
}

async fn commits_once(
    url: &str,
    connections: usize,
    telling: Telling,
    time: Duration,
) -> Result<f64, Failure> {
    let (sql, listeners) = match telling {
        Telling::Nobody => (include_str!("../../sql/bare/insert.sql"), 0),
        Telling::Listeners(count) => (include_str!("../../sql/bare/insert_notify.sql"), count),
    };
    let listening = try_join_all((0..listeners).map(async |_| listen(url).await)).await?;
    let begin = Instant::now();
    let one = async |_| {
        let (client, _driving) = database::connect(url).await?;
        let insert = client.prepare(sql).await?;
        let mut count = 0_u64;
        while begin.elapsed() < time {
            match telling {
                Telling::Nobody => client.query(&insert, &[&[BODY].as_slice()]).await?,
                Telling::Listeners(_) => client.query(&insert, &[&BODY]).await?,
            };
            count += 1;
        }
        Ok::<u64, Failure>(count)
    };
    let count: u64 = try_join_all((0..connections).map(one)).await?.into_iter().sum();
    let rate = count as f64 / begin.elapsed().as_secs_f64();
    for task in listening {
        task.abort();
    }
    Ok(rate)
}

/// A connection that listens and takes what comes, until it is aborted.
async fn listen(url: &str) -> Result<tokio::task::JoinHandle<()>, Failure> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let mut messages = Box::pin(stream::poll_fn(move |context| connection.poll_message(context)));
    let driving = tokio::spawn(async move { while let Some(Ok(_)) = messages.next().await {} });
    client.batch_execute(include_str!("../../sql/bare/listen.sql")).await?;
    // The connection lives as long as its client is there.
    Ok(tokio::spawn(async move {
        let _client = client;
        let _ = driving.await;
    }))
}

/// An echo by fastwebsockets in a process of its own: one message at a time, and as many as there can be.
pub(super) async fn echo(events: u32, time: Duration, report: &mut Report) -> Result<(), Failure> {
    let process = Process::start(None).await?;
    let url = format!("{}/echo", process.url);
    let latencies = round_trips(&url, |count, _| count < u64::from(events)).await?;
    report.latencies("echo.one_at_a_time", "bare fastwebsockets: echo, one at a time", &latencies);
    let meter = Meter::start(&[Counted::one("echo", process.pid()?)])?;
    let begin = Instant::now();
    let all = try_join_all((0..ECHOES).map(|_| round_trips(&url, |_, since| since < time))).await?;
    let (took, used) = (begin.elapsed(), meter.used()?);
    let count: u64 = all.iter().map(Histogram::len).sum();
    let what = "bare fastwebsockets: echoes/s, 16 connections";
    report.figure("echo.per_second", what, count as f64 / took.as_secs_f64(), Unit::PerSecond);
    for (name, time) in used {
        let each = time.as_secs_f64() * 1e6 / count.max(1) as f64;
        let what = format!("bare fastwebsockets: processor time of {name} for a million echoes");
        report.figure(format!("echo.cpu.{name}"), what, each, Unit::SecondsPerMillion);
    }
    process.stop().await
}

async fn round_trips(url: &str, go_on: impl Fn(u64, Duration) -> bool) -> Result<Histogram<u64>, Failure> {
    let (mut reader, writer) = wire::connect(url, &[]).await?;
    let (begin, mut latencies) = (Instant::now(), histogram());
    while go_on(latencies.len(), begin.elapsed()) {
        let sent = Instant::now();
        writer.text(BODY).await?;
        reader.find(|_| Some(())).await?;
        latencies.record(micros(sent.elapsed()).max(1))?;
    }
    Ok(latencies)
}
