//! What is done to everyone: one message at a time, then a steady rate.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::Settings;
use super::arm::{Arm, Stage, due};
use crate::Failure;
use crate::report::{Report, Unit, histogram};
use crate::usage::{LOAD, Meter};
use crate::wire::Reader;

/// Connections that send.
const SENDERS: usize = 16;

/// How long after the last message was due the last receiver may have it.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long one message may take while nothing else goes on.
const ONE: Duration = Duration::from_secs(10);

/// Measures one.
pub(super) async fn measure(
    name: &str,
    arm: &mut impl Arm,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    let Settings { events, rate, receivers, seconds, warm_up } = *settings;
    eprintln!("{name}: {events} messages one at a time ...");
    let mut stage = arm.stage(1, 1).await?;
    let latencies = one_at_a_time(&mut stage, events).await?;
    drop(stage);
    let what = format!("{name}: send to frame, one at a time");
    report.latencies(&format!("{name}.one_at_a_time"), &what, &latencies);

    eprintln!("{name}: {rate} sends/s to {receivers} receivers for {seconds} s ...");
    let mut stage = arm.stage(SENDERS, receivers).await?;
    if warm_up > 0 {
        steady(&mut stage, rate, warm_up, Instant::now()).await?;
    }
    let meter = Meter::start(arm.processes())?;
    let seen = steady(&mut stage, rate, seconds, Instant::now()).await?;
    let used = meter.used()?;
    drop(stage);
    let what = format!("{name}: {rate} sends/s, {receivers} receivers each");
    report.latencies(&format!("{name}.steady"), &what, &seen.latencies);
    let delivered = seen.latencies.len();
    let per_second = delivered as f64 / seen.took.as_secs_f64();
    report.figure(
        format!("{name}.deliveries_per_second"),
        format!("{name}: deliveries/s"),
        per_second,
        Unit::PerSecond,
    );
    let lost = seen.expected.saturating_sub(delivered);
    report.figure(
        format!("{name}.late_or_lost"),
        format!("{name}: deliveries that did not come within {PATIENCE:?}"),
        lost as f64,
        Unit::Faults,
    );
    processor(name, &used, delivered, report);
    Ok(())
}

/// Processor seconds of each for a million deliveries; of the load apart.
fn processor(name: &str, used: &[(String, Duration)], delivered: u64, report: &mut Report) {
    if delivered == 0 || used.len() == 1 {
        // A deployment elsewhere is not seen.
        return;
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / delivered as f64;
    for (process, time) in used {
        report.figure(
            format!("{name}.cpu.{process}"),
            format!("{name}: processor time of {process} for a million deliveries"),
            each(*time),
            Unit::SecondsPerMillion,
        );
    }
    let servers = used.iter().filter(|(process, _)| process != LOAD).map(|(_, time)| *time).sum();
    report.figure(
        format!("{name}.cpu.total"),
        format!("{name}: processor time of all but the load for a million deliveries"),
        each(servers),
        Unit::SecondsPerMillion,
    );
}

/// Microseconds since a moment; at least one, the least that a histogram takes.
fn micros_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).max(1)
}

async fn one_at_a_time(stage: &mut Stage, events: u32) -> Result<Histogram<u64>, Failure> {
    let (sender, receiver) = (&stage.senders[0], &mut stage.receivers[0]);
    let start = Instant::now();
    let mut latencies = histogram();
    for number in 0..events {
        let at = micros_of(start.elapsed());
        sender.send(at).await?;
        let came = receiver.find(|message| due(message).filter(|due| *due == at));
        tokio::time::timeout(ONE, came).await.map_err(|_| format!("a message took more than {ONE:?}"))??;
        // The first ones warm caches and plans.
        if number >= events / 10 {
            latencies.record(micros_of(start.elapsed()).saturating_sub(at).max(1))?;
        }
    }
    Ok(latencies)
}

/// What came of a steady rate.
struct Seen {
    latencies: Histogram<u64>,
    expected: u64,
    /// From when the first was due until the last came.
    took: Duration,
}

/// Sends at a steady rate; a message is sent when it is due, whether or not those before have arrived.
async fn steady(stage: &mut Stage, rate: u32, seconds: u32, start: Instant) -> Result<Seen, Failure> {
    let total = rate * seconds;
    let begin = start + Duration::from_millis(20);
    let end = begin + Duration::from_secs(seconds.into()) + PATIENCE;
    let readers = std::mem::take(&mut stage.receivers);
    let expected = u64::from(total) * readers.len() as u64;
    let receiving: Vec<_> =
        readers.into_iter().map(|reader| tokio::spawn(receive(reader, total.into(), start, end))).collect();
    for number in 0..total {
        let due = begin + Duration::from_secs(1) / rate * number;
        tokio::time::sleep_until(due.into()).await;
        let sender = &stage.senders[number as usize % stage.senders.len()];
        sender.send(micros_of(due.duration_since(start))).await?;
    }
    let (mut latencies, mut last) = (histogram(), begin);
    for one in receiving {
        let Received { reader, latencies: of_one, last: last_of_one } = one.await??;
        latencies.add(of_one)?;
        last = last.max(last_of_one);
        stage.receivers.extend(reader);
    }
    Ok(Seen { latencies, expected, took: last.duration_since(begin) })
}

/// What one connection received.
struct Received {
    /// None when it was given up in the middle of a frame.
    reader: Option<Reader>,
    latencies: Histogram<u64>,
    last: Instant,
}

async fn receive(mut reader: Reader, total: u64, start: Instant, end: Instant) -> Result<Received, Failure> {
    let (mut latencies, mut last) = (histogram(), start);
    while latencies.len() < total {
        let Ok(due) = tokio::time::timeout_at(end.into(), reader.find(due)).await else {
            return Ok(Received { reader: None, latencies, last });
        };
        let due = due?;
        last = Instant::now();
        latencies.record(micros_of(last.duration_since(start)).saturating_sub(due).max(1))?;
    }
    Ok(Received { reader: Some(reader), latencies, last })
}
