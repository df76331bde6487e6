//! Clients that read slowly, or not at all.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use client::Socket;
use domain::{DeviceKind, RoomId};
use protocol::{CloseCode, Encoding, ServerFrame};
use testkit::proxy::Proxy;
use tokio::time::timeout;

use crate::wire::{Wire, body, message};
use crate::world::{PATIENCE, Person, World};

const MIB: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_clients_that_stop_reading_cost_no_memory_and_later_have_everything_in_order() {
    const SLOW: usize = 12;
    const MESSAGES: usize = 4000;
    const BYTES: usize = 6000;
    let world = World::start().await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let proxy = proxy_of(&world, 2);
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(through(&proxy, &world, &sam).await);
    }
    let mut quick = world.connect_device(&sam, sam.new_device(DeviceKind::Web).await, 2).await;
    // What a gateway takes for its first messages is not a cost of slow clients.
    talk(&world, &alex, room, 0..500, BYTES).await;
    for n in 0..500 {
        assert_eq!(number(&quick.event_of("message.created").await), n);
    }
    for wire in &mut slow {
        for n in 0..500 {
            assert_eq!(number(&wire.event_of("message.created").await), n);
        }
    }
    let before = world.resident("gateway-2");

    proxy.stall();
    let talking = talk(&world, &alex, room, 500..MESSAGES, BYTES);
    let reading = async {
        for n in 500..MESSAGES {
            assert_eq!(number(&quick.event_of("message.created").await), n);
        }
    };
    tokio::join!(talking, reading);
    let behind = "switchboard_behind_connections";
    world.until_metric("gateway-2", behind, |behind| behind == SLOW as f64).await;
    // Unbounded queues would hold this for each of them, or once if they shared it.
    let sent = ((MESSAGES - 500) * BYTES) as u64;
    assert!(sent > 20 * MIB);
    until_grown_by_less_than(12 * MIB, &world, before).await;
    assert!(world.metric("gateway-2", "switchboard_held_back_total").await.is_some_and(|held| held > 0.0));

    proxy.resume();
    for wire in &mut slow {
        let mut last = 0;
        for n in 500..MESSAGES {
            let event = wire.event_of("message.created").await;
            assert_eq!(number(&event), n);
            assert!(last == 0 || event.seq == last + 1);
            last = event.seq;
        }
    }
    world.until_metric("gateway-2", behind, |behind| behind == 0.0).await;
    // Live again: pushed, not read from the log.
    let said = alex.says(room, "the end").await;
    for wire in &mut slow {
        assert_eq!(wire.event().await.seq, said);
    }
    until_grown_by_less_than(24 * MIB, &world, before).await;
}

/// Waits until a gateway uses no more memory than before, but for so many bytes. What it holds it holds for good;
/// what a burst left free goes back to the system within the seconds that the allocator keeps it.
async fn until_grown_by_less_than(bytes: u64, world: &World, before: u64) {
    let bound = (before + bytes) as f64;
    world.until_metric("gateway-2", "process_resident_memory_bytes", |resident| resident < bound).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_client_that_never_reads_is_closed_and_resumes() {
    const MESSAGES: usize = 2500;
    let world = World::with(|options| options.setting("gateway.behind_limit", "1s")).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let proxy = proxy_of(&world, 2);
    let mut wire = through(&proxy, &world, &sam).await;
    proxy.stall();
    talk(&world, &alex, room, 0..MESSAGES, 6000).await;
    let closed = r#"switchboard_closed_total{code="4010"}"#;
    world.until_metric("gateway-2", closed, |closed| closed == 1.0).await;
    let open = r#"switchboard_connections{kind="device",role="gateway"}"#;
    world.until_metric("gateway-2", open, |open| open == 0.0).await;
    world.until_metric("gateway-2", "switchboard_behind_connections", |behind| behind == 0.0).await;

    // Its device holds the slot still: nobody else came, so it resumes where it was.
    let (session, cursors) = (wire.ready().session_id, wire.cursors());
    proxy.resume();
    let had = wire.until_lost().await;
    let mut cursors = cursors;
    if let Some(last) = had.last() {
        cursors.insert(last.stream.clone(), last.seq).expect("a stream");
    }
    let mut back = world.hello(&sam, 1, Encoding::Json).await;
    back.resume(session, cursors).await;
    let numbers = had.iter().map(number);
    let replayed = back.until_live().await;
    let replayed = replayed.iter().filter_map(|frame| match frame {
        ServerFrame::Event(event) => Some(number(event)),
        _ => None,
    });
    assert_eq!(numbers.chain(replayed).collect::<Vec<_>>(), (0..MESSAGES).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_client_that_reads_too_slowly_is_told_4010() {
    let world = World::with(|options| options.setting("gateway.behind_limit", "5s")).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let proxy = proxy_of(&world, 2);
    let mut wire = through(&proxy, &world, &sam).await;
    // It takes something all the time, never enough, so no single write is stuck: a batch takes it half a second, and a busy
    // machine has ten times that.
    proxy.slow(NonZeroU64::new(2 * MIB).expect("not 0"));
    let reading = async {
        let mut last = None;
        let began = Instant::now();
        loop {
            match timeout(PATIENCE, wire.received()).await.expect("something comes") {
                Ok(ServerFrame::Event(event)) => {
                    assert!(last.is_none_or(|last| event.seq == last + 1));
                    last = Some(event.seq);
                }
                Ok(_) => {}
                Err(end) => {
                    assert_eq!(end.close_code(), Some(CloseCode::TooFarBehind), "{end}");
                    return;
                }
            }
            assert!(began.elapsed() < PATIENCE, "it is let to be behind for ever");
        }
    };
    tokio::select! {
        () = talk(&world, &alex, room, 0..usize::MAX, 12_000) => {}
        () = reading => {}
    }
}

/// A proxy before a gateway.
fn proxy_of(world: &World, gateway: usize) -> Arc<Proxy> {
    let url = world.cluster.gateway_url(gateway);
    let address = url.trim_start_matches("ws://").split('/').next().expect("an address");
    Arc::new(Proxy::start(address.parse().expect("an address")))
}

/// A new device of a person behind a proxy, live.
async fn through(proxy: &Proxy, world: &World, person: &Person) -> Wire {
    let url = proxy.url(&world.cluster.gateway_url(2));
    let ticket = person.ticket().await;
    let mut wire = Wire::open(&url, &ticket, Encoding::Json).await.expect("a connection");
    wire.identify(person.new_device(DeviceKind::Web).await).await;
    wire.until_live().await;
    wire
}

/// Sends numbered messages by a socket, each when the one some way before it was acknowledged.
async fn talk(world: &World, person: &Person, room: RoomId, numbers: std::ops::Range<usize>, bytes: usize) {
    const UNDER_WAY: usize = 64;
    let ticket = person.ticket().await;
    let url = world.cluster.gateway_url(1);
    let mut socket = Socket::connect(&url, &ticket, Encoding::Json).await.expect("a connection");
    let device = person.new_device(DeviceKind::Web).await;
    socket.send(&crate::wire::identify(device)).await.expect("sent");
    let filler = "x".repeat(bytes);
    let (mut acknowledged, mut sent) = (0, 0);
    let total = numbers.len();
    let mut numbers = numbers;
    while acknowledged < total {
        while sent < acknowledged + UNDER_WAY
            && let Some(n) = numbers.next()
        {
            let frame = message(room, &format!("{n} {filler}"), &format!("{n}"));
            socket.send(&frame).await.expect("sent");
            sent += 1;
        }
        match timeout(PATIENCE, socket.receive()).await.expect("in time").expect("open") {
            ServerFrame::Sent(_) => acknowledged += 1,
            ServerFrame::Error(error) => panic!("{error:?}"),
            _ => {}
        }
    }
}

/// The number that a message begins with.
fn number(event: &protocol::frame::Event) -> usize {
    body(event).split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}
