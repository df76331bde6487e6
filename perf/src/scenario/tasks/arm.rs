//! What is done to everyone that is measured, in the same order.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio_postgres::Client;

use super::Settings;
use super::database::{self, Snapshot};
use crate::Failure;
use crate::database::postmaster;
use crate::report::{Report, Unit};
use crate::usage::{Counted, LOAD, Meter};

/// The most jobs that are queued at once while a snapshot is held.
const CHUNK: u32 = 20_000;

/// Jobs that are queued at once while a snapshot is held: no more than there are at all.
pub(super) fn chunk(settings: &Settings) -> u32 {
    CHUNK.min(settings.jobs)
}

/// Jobs before those whose waits count; at most those of two seconds.
const WARM_UP: u32 = 100;

/// Whose processor time is told.
pub(super) const DATABASE: &str = "database";
pub(super) const WORKERS: &str = "workers";

/// How long is waited for what was queued to be done.
const PATIENCE: Duration = Duration::from_secs(120);

/// What workers are started for; whoever has another set-up for each may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// As many jobs a second as there can be.
    Rate,
    /// Jobs that begin soon.
    Latency,
}

/// Somebody who works on jobs that do nothing.
pub(super) trait Arm {
    /// Queues so many jobs at once; gives how many it were.
    async fn fill(&mut self, jobs: u32) -> Result<u32, Failure>;

    /// Queues one job.
    fn enqueue(&self) -> impl Future<Output = Result<(), Failure>> + Send + 'static;

    /// Starts worker processes.
    async fn start(&mut self, purpose: Purpose) -> Result<(), Failure>;

    /// The worker processes that were started.
    fn processes(&self) -> Vec<u32>;

    /// Stops them in order.
    async fn stop(&mut self) -> Result<(), Failure>;

    /// Jobs begun since the workers were started, about.
    async fn begun(&mut self) -> Result<u64, Failure>;

    /// Waits until the workers have done so many jobs, or `limit` is over: how many, and in which time, from when the first worker looked for
    /// jobs.
    async fn drained(&mut self, jobs: u64, limit: Duration) -> Result<(u64, Duration), Failure>;

    /// Waits until so many single jobs are done: how long each waited. They are forgotten.
    async fn waited(&mut self, jobs: u64) -> Result<Waits, Failure>;
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// By which results know it.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) free: Pace,
    /// Jobs a second over `settings.held`, with jobs that come and a snapshot that was taken before them.
    pub(super) flood: f64,
    pub(super) held: Pace,
}

impl Figures {
    /// Into the result.
    pub(super) fn report(&self, report: &mut Report) {
        let Self { id, name, .. } = self;
        let mut rate = |what: &str, of: &str, rate| {
            report.figure(format!("{id}.{what}"), format!("{name}: {of}"), rate, Unit::PerSecond);
        };
        rate("rate", "no-op jobs/s", self.free.rate);
        rate("flood", "no-op jobs/s as they come, snapshot held meanwhile", self.flood);
        rate("held.rate", "no-op jobs/s after that, snapshot still held", self.held.rate);
        for (who, micros) in &self.free.processor {
            let what = format!("{name}: processor time of {who} for a million jobs");
            report.figure(format!("{id}.processor.{who}"), what, *micros, Unit::SecondsPerMillion);
        }
        let kept = self.held.rate / self.free.rate * 100.0;
        report.figure(format!("{id}.kept"), format!("{name}: jobs/s kept"), kept, Unit::Percent);
        let waits = &self.free.waits.started;
        report.latencies(&format!("{id}.started"), &format!("{name}: queued to started"), waits);
        let waits = &self.held.waits.started;
        let what = format!("{name}: queued to started, snapshot held");
        report.latencies(&format!("{id}.held.started"), &what, waits);
    }
}

/// How fast somebody is.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// Jobs a second.
    pub(super) rate: f64,
    /// Processor time of the database and of the workers at that rate, in microseconds for a job.
    pub(super) processor: Vec<(&'static str, f64)>,
    /// Of jobs that come one by one.
    pub(super) waits: Waits,
}

/// How long jobs waited, in microseconds.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    /// From queuing to the start.
    pub(super) started: Histogram<u64>,
    /// From queuing to the record of the end, where it is kept.
    pub(super) recorded: Option<Histogram<u64>>,
}

/// Measures one: jobs a second and waits, and both again while a snapshot is held that is older than
/// `settings.held` of work.
pub(super) async fn measure(
    [id, name]: [&str; 2],
    arm: &mut impl Arm,
    url: &str,
    settings: &Settings,
) -> Result<Figures, Failure> {
    let (client, _driving) = database::connect(url).await?;
    let mut best = (0.0, Vec::new());
    for number in 1..=settings.rounds {
        eprintln!(
            "{name}: {} jobs that are there already, round {number} of {} ...",
            settings.jobs, settings.rounds
        );
        arm.fill(settings.jobs).await?;
        database::settle(&client).await?;
        let round = rate_of(name, arm, settings.jobs, &client).await?;
        if round.0 > best.0 {
            best = round;
        }
    }
    let (rate, processor) = best;
    let waits = waits(name, arm, settings).await?;

    let snapshot = Snapshot::hold(url).await?;
    let flood = flood(name, arm, settings).await?;
    arm.fill(settings.jobs).await?;
    client.batch_execute("ANALYZE").await?;
    client.batch_execute("CHECKPOINT").await?;
    let (rate_held, processor_held) = rate_of(name, arm, settings.jobs, &client).await?;
    let waits_held = self::waits(name, arm, settings).await?;
    snapshot.release().await?;
    Ok(Figures {
        id: id.to_owned(),
        name: name.to_owned(),
        free: Pace { rate, processor, waits },
        flood,
        held: Pace { rate: rate_held, processor: processor_held, waits: waits_held },
    })
}

/// Jobs a second of what is queued, and the processor time of whom in microseconds for a job.
async fn rate_of(
    name: &str,
    arm: &mut impl Arm,
    jobs: u32,
    client: &Client,
) -> Result<(f64, Vec<(&'static str, f64)>), Failure> {
    arm.start(Purpose::Rate).await?;
    let workers = arm.processes().into_iter().map(|pid| Counted::one(WORKERS, pid));
    let database = Counted::family(DATABASE, postmaster(client).await?);
    let meter = Meter::start(&workers.chain([database]).collect::<Vec<_>>())?;
    let (done, took) = arm.drained(jobs.into(), PATIENCE).await?;
    let used = meter.used()?;
    arm.stop().await?;
    let rate = done as f64 / took.as_secs_f64();
    let processor = [DATABASE, WORKERS, LOAD].map(|who| {
        let all = used.iter().filter(|(name, _)| name == who).map(|(_, time)| time.as_secs_f64());
        (who, all.sum::<f64>() * 1e6 / done.max(1) as f64)
    });
    let shares = processor.map(|(who, micros)| format!("{who} {micros:.1} us"));
    eprintln!("{name}: {done} jobs in {took:.2?}, {rate:.0}/s; processor for a job: {}", shares.join(", "));
    Ok((rate, processor.into()))
}

/// How long jobs wait that come one by one, whether or not those before have begun.
async fn waits(name: &str, arm: &mut impl Arm, settings: &Settings) -> Result<Waits, Failure> {
    eprintln!("{name}: {} jobs/s for {} s ...", settings.rate, settings.seconds);
    arm.start(Purpose::Latency).await?;
    let warm_up = WARM_UP.min(settings.rate * 2);
    offer(arm, settings.rate, warm_up).await?;
    arm.waited(warm_up.into()).await?;
    let jobs = settings.rate * settings.seconds;
    offer(arm, settings.rate, jobs).await?;
    let waits = arm.waited(jobs.into()).await?;
    arm.stop().await?;
    let at = |quantile| waits.started.value_at_quantile(quantile);
    eprintln!("{name}: started after {} us (p50), {} us (p99)", at(0.5), at(0.99));
    Ok(waits)
}

/// Queues jobs at a steady rate; none waits for those before.
async fn offer(arm: &impl Arm, rate: u32, jobs: u32) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut queuing = Vec::new();
    for number in 0..jobs {
        tokio::time::sleep_until((begin + Duration::from_secs(1) / rate * number).into()).await;
        queuing.push(tokio::spawn(arm.enqueue()));
    }
    for one in queuing {
        one.await??;
    }
    Ok(())
}

/// Has the workers work as fast as they can for a time, then do what is left: jobs a second.
async fn flood(name: &str, arm: &mut impl Arm, settings: &Settings) -> Result<f64, Failure> {
    eprintln!("{name}: as many jobs as there can be for {} s, while a snapshot is held ...", settings.held);
    let chunk = chunk(settings);
    let end = Instant::now() + Duration::from_secs(settings.held);
    let mut queued: u64 = arm.fill(chunk).await?.into();
    arm.start(Purpose::Rate).await?;
    while Instant::now() < end {
        if queued.saturating_sub(arm.begun().await?) < chunk.into() {
            queued += u64::from(arm.fill(chunk).await?);
        } else {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let (done, took) = arm.drained(queued, PATIENCE).await?;
    arm.stop().await?;
    eprintln!("{name}: {done} jobs in {took:.0?} while a snapshot was held");
    if done < queued {
        return Err(format!("{} jobs were left after {PATIENCE:?} more", queued - done).into());
    }
    Ok(done as f64 / took.as_secs_f64())
}

/// One row, one number.
pub(super) async fn number(client: &Client, sql: &str) -> Result<i64, Failure> {
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}
