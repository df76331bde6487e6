//! The scenarios.

pub(crate) mod agents;
pub(crate) mod hints;
pub(crate) mod presence;
pub(crate) mod tasks;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::Socket;
use domain::RoomId;
use futures_util::future::{join_all, try_join_all};
use futures_util::{StreamExt, TryStreamExt, stream};
use hdrhistogram::Histogram;
use protocol::frame::Send;
use protocol::{ClientFrame, ServerFrame};
use uuid::Uuid;

use crate::Failure;
use crate::cluster::Cluster;
use crate::people::{self, Person};
use crate::report::{Report, histogram};
use crate::usage;

fn message(room: RoomId, body: String) -> ClientFrame {
    let nonce = Uuid::now_v7().simple().to_string();
    ClientFrame::Send(Send { room_id: room.0, body, nonce, reply_to: None })
}

/// Waits for the next message and gives its body.
async fn body(socket: &mut Socket) -> Result<String, Failure> {
    #[derive(serde::Deserialize)]
    struct Data {
        body: String,
    }
    loop {
        if let ServerFrame::Event(event) = socket.receive().await?
            && event.kind == "message.created"
        {
            return Ok(serde_json::from_str::<Data>(event.data.get())?.body);
        }
    }
}

/// Sent on gateway 1, received on gateway 2, one at a time.
pub(crate) async fn one_at_a_time(
    cluster: &Cluster,
    events: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let alex = people::person(&cluster.api[0].url, "alex").await?;
    let sam = people::person(&cluster.api[1].url, "sam").await?;
    let room = people::room(&[&alex, &sam]).await?;
    let sender = people::connect(&alex, &cluster.gateway[0].url, alex.device).await?;
    let mut receiver = people::connect(&sam, &cluster.gateway[1].url, sam.device).await?;
    let (outgoing, mut incoming) = sender.split();
    let draining = tokio::spawn(async move { while incoming.receive().await.is_ok() {} });
    let mut latencies = histogram();
    for number in 0..events {
        let sent = Instant::now();
        outgoing.send(&message(room, number.to_string())).await?;
        while body(&mut receiver).await? != number.to_string() {}
        // The first ones warm caches and plans.
        if number >= events / 10 {
            latencies.record(micros(sent.elapsed()))?;
        }
    }
    draining.abort();
    report.latencies("send on gateway 1 to frame on gateway 2, one at a time", &latencies);
    Ok(())
}

/// A steady rate on gateway 1, every event to many on gateway 2.
pub(crate) async fn fanout(
    cluster: &Cluster,
    rate: u32,
    receivers: usize,
    seconds: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let alex = people::person(&cluster.api[0].url, "alex").await?;
    let others: Vec<Person> = stream::iter(0..receivers)
        .map(|n| async move { people::person(&cluster.api[n % 2].url, &format!("person{n}")).await })
        .buffered(8)
        .try_collect()
        .await?;
    let members: Vec<&Person> = std::iter::once(&alex).chain(&others).collect();
    let room = people::room(&members).await?;
    let start = Instant::now();
    let total = rate * seconds;
    let mut receiving = Vec::new();
    for person in &others {
        let mut socket = people::connect(person, &cluster.gateway[1].url, person.device).await?;
        receiving.push(tokio::spawn(async move {
            let mut latencies = histogram();
            for _ in 0..total {
                // The body is the moment at which the send was due.
                let due: u64 = body(&mut socket).await?.parse()?;
                let now = micros(start.elapsed());
                latencies.record(now.saturating_sub(due).max(1))?;
            }
            Ok::<_, Failure>(latencies)
        }));
    }
    let senders: Vec<_> = try_join_all((0..16).map(|n| sender(cluster, &alex, n))).await?;
    let begin = Instant::now();
    let gap = Duration::from_secs(1) / rate;
    for number in 0..total {
        let due = begin + gap * number;
        tokio::time::sleep_until(due.into()).await;
        let since_start = micros(due.duration_since(start));
        senders[number as usize % senders.len()].send(&message(room, since_start.to_string())).await?;
    }
    let mut latencies = histogram();
    for one in receiving {
        latencies.add(one.await??)?;
    }
    let took = begin.elapsed().as_secs_f64();
    report.latencies(&format!("{rate} sends/s, {receivers} receivers each, across gateways"), &latencies);
    report.row("deliveries per second in that run", format!("{:.0}", latencies.len() as f64 / took));
    Ok(())
}

/// A sending connection of its own device; what it receives is dropped.
async fn sender(cluster: &Cluster, person: &Person, n: usize) -> Result<client::socket::Outgoing, Failure> {
    let device = person
        .api
        .add_device(&client::api::NewDevice { kind: domain::DeviceKind::Web, name: format!("sender {n}") })
        .await?;
    let (outgoing, mut incoming) = people::connect(person, &cluster.gateway[0].url, device.id).await?.split();
    tokio::spawn(async move { while incoming.receive().await.is_ok() {} });
    Ok(outgoing)
}

/// Durable sends, each acknowledged before the sender's next.
pub(crate) async fn sends(
    cluster: &Cluster,
    senders: usize,
    rooms: usize,
    seconds: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let people: Vec<Person> = stream::iter(0..senders)
        .map(|n| async move { people::person(&cluster.api[n % 2].url, &format!("person{n}")).await })
        .buffered(8)
        .try_collect()
        .await?;
    // A room of one person each: what is measured is the write path, not fan-out.
    let mut room_of = Vec::new();
    for (n, person) in people.iter().enumerate() {
        let room = if n < rooms { people::room(&[person]).await? } else { room_of[n % rooms] };
        if n >= rooms {
            people[n % rooms].api.add_members(room, &[person.id]).await?;
        }
        room_of.push(room);
    }
    let count = Arc::new(AtomicU64::new(0));
    let latencies = Arc::new(std::sync::Mutex::new(histogram()));
    let end = Instant::now() + Duration::from_secs(seconds.into());
    let began = Instant::now();
    let mut sending = Vec::new();
    for (n, person) in people.iter().enumerate() {
        let (outgoing, mut incoming) =
            people::connect(person, &cluster.gateway[n % 2].url, person.device).await?.split();
        let (room, count, latencies) = (room_of[n], Arc::clone(&count), Arc::clone(&latencies));
        sending.push(tokio::spawn(async move {
            let mut own: Histogram<u64> = histogram();
            while Instant::now() < end {
                let sent = Instant::now();
                outgoing
                    .send(&message(room, "a message of about the usual length, forty bytes".into()))
                    .await?;
                loop {
                    match incoming.receive().await? {
                        ServerFrame::Sent(_) => break,
                        ServerFrame::Error(error) => return Err(error.detail.into()),
                        _ => {}
                    }
                }
                own.record(micros(sent.elapsed()))?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            if let Ok(mut all) = latencies.lock() {
                all.add(own)?;
            }
            Ok::<(), Failure>(())
        }));
    }
    for one in join_all(sending).await {
        one??;
    }
    let rate = count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    report.row(
        format!("durable sends/s, {senders} senders over {rooms} rooms, two gateways"),
        format!("{rate:.0}"),
    );
    if let Ok(all) = latencies.lock() {
        report.latencies("send to acknowledgement in that run", &all);
    }
    Ok(())
}

/// Resident memory of a gateway for each idle connection.
pub(crate) async fn idle(cluster: &Cluster, connections: usize, report: &mut Report) -> Result<(), Failure> {
    let alex = Arc::new(people::person(&cluster.api[0].url, "alex").await?);
    people::room(&[&alex]).await?;
    let gateway = &cluster.gateway[0];
    let open = |n: usize| {
        let (alex, url) = (Arc::clone(&alex), gateway.url.clone());
        async move {
            let device = client::api::NewDevice { kind: domain::DeviceKind::Web, name: format!("idle {n}") };
            let device = alex.api.add_device(&device).await?;
            people::connect(&alex, &url, device.id).await
        }
    };
    // What a node takes for its first connections is not a cost of each.
    let first: Vec<Socket> = stream::iter(0..100).map(open).buffer_unordered(16).try_collect().await?;
    let before = usage::resident(gateway.pid)?;
    let more: Vec<Socket> =
        stream::iter(100..100 + connections).map(open).buffer_unordered(32).try_collect().await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = usage::resident(gateway.pid)?;
    let each = (after.saturating_sub(before)) as f64 / more.len() as f64;
    report.row(
        format!("resident bytes of a gateway per idle connection, {connections} connections"),
        format!("{each:.0} (from {before} to {after})"),
    );
    drop((first, more));
    Ok(())
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds since 1970, by the clock that all processes of the machine have.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
