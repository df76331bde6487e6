//! The client's session, through everything that a person may do and a network may.

use std::sync::Arc;
use std::time::Duration;

use client::{Session, SessionSettings, SignIn, Update};
use domain::RoomId;
use protocol::frame::{Event, Slot};
use testkit::proxy::Proxy;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::wire::{body, stream};
use crate::world::{PATIENCE, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_session_sees_rooms_come_and_go_through_losses_without_a_fault() {
    const ROUNDS: usize = 120;
    let world = World::start().await;
    let (alex, sam) = world.alex_and_sam().await;
    let rooms: Vec<RoomId> =
        [alex.room("Lunch", &[]).await, alex.room("Dinner", &[]).await, alex.room("Tea", &[]).await].into();
    let last = alex.room("Last", &[&sam]).await;
    let proxies: Vec<Proxy> = (1..=2)
        .map(|n| {
            let url = world.cluster.gateway_url(n);
            let address = url.trim_start_matches("ws://").split('/').next().expect("an address");
            Proxy::start(address.parse().expect("an address"))
        })
        .collect();
    let gateways = (0..2).map(|n| proxies[n].url(&world.cluster.gateway_url(n + 1))).collect();
    let tickets = SignIn::Tickets(vec![sam.at(&world, 1), sam.at(&world, 2)]);
    let mut settings = SessionSettings::new(gateways, tickets, Slot::Device(sam.device.0));
    settings.backoff.first = Duration::from_millis(20);
    settings.backoff.most = Duration::from_millis(200);
    let (session, mut updates) = Session::open(settings);
    session.live().await.expect("live");
    let events = Arc::new(Mutex::new(Vec::<Event>::new()));
    let kept = Arc::clone(&events);
    let following = tokio::spawn(async move {
        loop {
            match updates.next().await.expect("the session goes on") {
                Update::Event(event) if event.stream == stream(last) && body(&event) == "the end" => return,
                Update::Event(event) => kept.lock().await.push(event),
                Update::Fault(fault) => panic!("{fault}"),
                Update::Gap(gap) => panic!("nothing was trimmed: {gap:?}"),
                _ => {}
            }
        }
    });
    for round in 0..ROUNDS {
        let room = rooms[round % rooms.len()];
        let api = alex.at(&world, 1 + round % 2);
        api.add_members(room, &[sam.id]).await.expect("added");
        alex.says(room, &format!("to those who are in, {round}")).await;
        if round % 3 == 0 {
            proxies[round / 3 % 2].cut();
        }
        alex.says(room, &format!("again, {round}")).await;
        if round % 4 != 3 {
            api.remove_member(room, sam.id).await.expect("removed");
            alex.says(room, &format!("to those who stay, {round}")).await;
        } else if round % 8 == 3 {
            proxies[0].cut();
            proxies[1].cut();
        }
    }
    alex.says(last, "the end").await;
    timeout(PATIENCE, following).await.expect("the end comes").expect("no fault");

    // Nothing twice, and everything in order.
    let events = events.lock().await;
    let mut seqs = std::collections::BTreeMap::<&str, u64>::new();
    for event in events.iter() {
        let before = seqs.insert(&event.stream, event.seq);
        assert!(before.is_none_or(|before| before < event.seq), "{before:?} before {event:?}");
    }
    session.stop().await;
}
