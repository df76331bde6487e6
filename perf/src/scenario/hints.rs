//! Hints: from a direct message by REST on api 1 to the hint on a desktop in use at gateway 2, and how fast a worker decides.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clap::Args;
use client::Api;
use client::api::NewMessage;
use domain::{DeviceKind, RoomId};
use futures_util::{StreamExt, TryStreamExt, stream};
use protocol::ServerFrame;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_postgres::Client;
use uuid::Uuid;

use super::{micros, now};
use crate::cluster::{Cluster, Shape};
use crate::ground::Ground;
use crate::people::{self, Attended, Person};
use crate::report::{Report, Unit, histogram};
use crate::whole::{CLIENTS, COUNT, RATE, SECONDS, whole};
use crate::{Failure, database};

/// How long what was sent may take to be hinted at, and everybody to be known as there.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often what has no bell is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Requests under way while a burst is sent.
const TOGETHER: usize = 32;

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// People with a desktop in use.
    #[arg(long, default_value_t = 100, value_parser = whole::<usize>(CLIENTS))]
    people: usize,
    /// Messages that are sent one at a time.
    #[arg(long, default_value_t = 500, value_parser = whole::<u32>(COUNT))]
    events: u32,
    /// Messages per second after that.
    #[arg(long, default_value_t = 200, value_parser = whole::<u32>(RATE))]
    rate: u32,
    /// How long, in seconds.
    #[arg(long, default_value_t = 20, value_parser = whole::<u32>(SECONDS))]
    seconds: u32,
    /// Notifications that wait for a worker at once.
    #[arg(long, default_value_t = 5000, value_parser = whole::<usize>(COUNT))]
    burst: usize,
}

/// Measures hints.
pub(crate) async fn hints(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    ground.program()?;
    let shape = Shape { worker: 1, ..Shape::default() };
    ground.on_cluster(&shape, async |cluster| measured(cluster, settings, report).await).await
}

async fn measured(cluster: &Cluster, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    let mut stage = Stage::set(cluster, settings.people).await?;
    eprintln!("{} messages, one at a time ...", settings.events);
    // The first ones warm caches and plans.
    stage.one_at_a_time(settings.events / 10).await?;
    let at_rest = stage.one_at_a_time(settings.events).await?;
    stage.report(["at_rest", "one at a time"], &at_rest, report).await?;
    eprintln!("{} messages/s for {} s ...", settings.rate, settings.seconds);
    let steady = stage.steady(settings.rate, settings.seconds).await?;
    stage.report(["steady", &format!("{} messages/s", settings.rate)], &steady, report).await?;
    stage.until_decided().await?;
    eprintln!("{} messages while the worker stands still ...", settings.burst);
    stage.burst(settings.burst, report).await
}

/// What a message is known by at both ends: its room, and its number there.
type Key = (Uuid, u64);

/// A hint that came.
struct Arrived {
    key: Key,
    notification: Uuid,
    at: Instant,
    /// The same moment, in microseconds since 1970.
    time: i64,
}

/// A message, and the hint that came of it.
struct Hinted {
    answered: Instant,
    hint: Arrived,
}

/// A cluster with everybody at their desktops.
struct Stage<'a> {
    cluster: &'a Cluster,
    client: Client,
    _driving: database::Driving,
    sender: Person,
    rooms: Vec<RoomId>,
    _desktops: Vec<Attended>,
    arrived: mpsc::UnboundedReceiver<Arrived>,
}

impl<'a> Stage<'a> {
    async fn set(cluster: &'a Cluster, people: usize) -> Result<Self, Failure> {
        let (client, driving) = database::connect(cluster.database_url()?).await?;
        let api = Api::new(&cluster.api[0].url)?;
        let sender = people::register(&api, DeviceKind::Web).await?;
        let (tell, arrived) = mpsc::unbounded_channel();
        let (mut rooms, mut desktops, mut there) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..people {
            let person = people::register(&api, DeviceKind::Desktop).await?;
            rooms.push(people::pair(&sender, &person).await?);
            let tell = tell.clone();
            let seen = move |frame| {
                if let ServerFrame::Hint(hint) = frame {
                    let (key, notification) = ((hint.room_id, hint.seq), hint.notification_id);
                    drop(tell.send(Arrived { key, notification, at: Instant::now(), time: now() }));
                }
            };
            there.push(person.id);
            desktops.push(Attended::connect(&person, &cluster.gateway[1].url, seen).await?);
        }
        people::until_known(&client, there.into_iter()).await?;
        let stage = Self { cluster, client, _driving: driving, sender, rooms, _desktops: desktops, arrived };
        Ok(stage)
    }

    /// Waits until a number in the database is as it should be.
    async fn until(&self, sql: &str, enough: impl Fn(i64) -> bool) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        loop {
            let found: i64 = self.client.query_one(sql, &[]).await?.try_get(0)?;
            if enough(found) {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(format!("it is still {found} after {PATIENCE:?}: {sql}").into());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until nothing of what was sent so far has the worker look at it again.
    async fn until_decided(&self) -> Result<(), Failure> {
        self.until(include_str!("../../sql/own/undecided.sql"), |waiting| waiting == 0).await
    }

    /// Sends to one after the other; gives the key, and when it was answered.
    fn send(&self, n: usize) -> impl Future<Output = Result<(Key, Instant), Failure>> + Send + 'static {
        let (api, room) = (self.sender.api.clone(), self.rooms[n % self.rooms.len()]);
        async move {
            let sent =
                api.send_message(room, &NewMessage::new("a message of about the usual length")).await?;
            Ok(((room.0, sent.event.seq), Instant::now()))
        }
    }

    async fn next(&mut self) -> Result<Arrived, Failure> {
        let next = tokio::time::timeout(PATIENCE, self.arrived.recv()).await;
        Ok(next.map_err(|_| format!("no hint came for {PATIENCE:?}"))?.ok_or("nobody is at a desktop")?)
    }

    async fn one_at_a_time(&mut self, events: u32) -> Result<Vec<Hinted>, Failure> {
        let mut all = Vec::new();
        for n in 0..events {
            let (key, answered) = self.send(n as usize).await?;
            let hint = self.next().await?;
            if hint.key != key {
                return Err(format!("a hint of {:?} came, and not of {key:?}", hint.key).into());
            }
            all.push(Hinted { answered, hint });
        }
        Ok(all)
    }

    async fn steady(&mut self, rate: u32, seconds: u32) -> Result<Vec<Hinted>, Failure> {
        let begin = Instant::now();
        let mut sending = Vec::new();
        for n in 0..rate * seconds {
            tokio::time::sleep_until((begin + Duration::from_secs(1) / rate * n).into()).await;
            sending.push(tokio::spawn(self.send(n as usize)));
        }
        let mut answered = HashMap::new();
        for one in sending {
            let (key, at) = one.await??;
            answered.insert(key, at);
        }
        let mut all = Vec::new();
        while !answered.is_empty() {
            let hint = self.next().await?;
            let answered = answered.remove(&hint.key).ok_or("a hint came twice, or of something else")?;
            all.push(Hinted { answered, hint });
        }
        Ok(all)
    }

    /// When notifications were decided, in microseconds since 1970.
    async fn decided(&self, hints: impl Iterator<Item = &Arrived>) -> Result<HashMap<Uuid, i64>, Failure> {
        let ids: Vec<Uuid> = hints.map(|hint| hint.notification).collect();
        let rows = self.client.query(include_str!("../../sql/own/decided.sql"), &[&ids]).await?;
        let decided = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let decided: HashMap<Uuid, i64> = decided.collect::<Result<_, tokio_postgres::Error>>()?;
        if decided.len() < ids.len() {
            return Err(format!("{} of {} notifications are decided", decided.len(), ids.len()).into());
        }
        Ok(decided)
    }

    async fn report(
        &self,
        [name, how]: [&str; 2],
        all: &[Hinted],
        report: &mut Report,
    ) -> Result<(), Failure> {
        let decided = self.decided(all.iter().map(|one| &one.hint)).await?;
        let (mut of_answer, mut of_decision) = (histogram(), histogram());
        for Hinted { answered, hint } in all {
            // It may come before the answer is read.
            of_answer.record(micros(hint.at.saturating_duration_since(*answered)).max(1))?;
            let since = decided.get(&hint.notification).map_or(0, |decided| hint.time - decided);
            of_decision.record(u64::try_from(since).unwrap_or_default().max(1))?;
        }
        let what = format!("message by api 1 answered to hint at gateway 2, {how}");
        report.latencies(&format!("{name}.answered"), &what, &of_answer);
        let what = format!("decided by the worker to hint at gateway 2, {how}");
        report.latencies(&format!("{name}.decided"), &what, &of_decision);
        Ok(())
    }

    /// How fast so many are decided that are all there when the worker begins: it stands still while they are sent.
    async fn burst(&mut self, burst: usize, report: &mut Report) -> Result<(), Failure> {
        let worker = self.cluster.worker[0].clone();
        let frozen = worker.freeze()?;
        let sent = stream::iter(0..burst).map(|n| self.send(n)).buffer_unordered(TOGETHER);
        let sent: Vec<_> = sent.try_collect().await?;
        let begin = now();
        drop(frozen);
        let mut hints = Vec::new();
        for _ in &sent {
            hints.push(self.next().await?);
        }
        let decided = self.decided(hints.iter()).await?;
        let took = |last: Option<i64>| -> Result<f64, Failure> {
            let took = Duration::from_micros(u64::try_from(last.ok_or("nothing was sent")? - begin)?);
            Ok(sent.len() as f64 / took.as_secs_f64())
        };
        let decided = took(decided.values().max().copied())?;
        let shown = took(hints.iter().map(|hint| hint.time).max())?;
        let what = format!("notifications/s that a worker decides, {burst} at once");
        report.figure("burst.decided", what, decided, Unit::PerSecond);
        report.figure("burst.shown", "hints/s of them at gateway 2", shown, Unit::PerSecond);
        Ok(())
    }
}
