//! The client's session, through everything that a person may do and a network may.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use client::{Session, SessionSettings, SignIn, Update};
use domain::RoomId;
use protocol::frame::{Event, Slot};
use serde_json::Value;
use testkit::cluster::ClusterOptions;
use testkit::proxy::Proxy;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::sse::{Message, Sse};
use crate::wire::{body, stream};
use crate::world::{PATIENCE, World, in_both_worlds};

in_both_worlds!(
    a_session_sees_rooms_come_and_go_through_losses_without_a_fault,
    an_event_stream_that_breaks_all_the_time_tells_everything_once,
    answers_to_sends_come_to_who_takes_no_updates,
);

async fn a_session_sees_rooms_come_and_go_through_losses_without_a_fault(options: ClusterOptions) {
    const ROUNDS: usize = 120;
    let world = World::on(options).await;
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
    let mut seqs = BTreeMap::<&str, u64>::new();
    for event in events.iter() {
        let before = seqs.insert(&event.stream, event.seq);
        assert!(before.is_none_or(|before| before < event.seq), "{before:?} before {event:?}");
    }
    session.stop().await;
}

async fn answers_to_sends_come_to_who_takes_no_updates(options: ClusterOptions) {
    const EVENTS: usize = 200;
    const SENDS: usize = 20;
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let gateways = vec![world.cluster.gateway_url(1), world.cluster.gateway_url(2)];
    let tickets = SignIn::Tickets(vec![sam.at(&world, 1), sam.at(&world, 2)]);
    // Far less than what comes meanwhile.
    let settings =
        SessionSettings { updates: 8, ..SessionSettings::new(gateways, tickets, Slot::Device(sam.device.0)) };
    let (session, mut updates) = Session::open(settings);
    session.live().await.expect("live");
    let talking = async {
        for n in 0..EVENTS {
            alex.says(room, &format!("{n}")).await;
        }
    };
    let sending = async {
        let mut numbers = Vec::new();
        for n in 0..SENDS {
            let answer = timeout(PATIENCE, session.send(room, format!("from Sam, {n}"))).await;
            numbers.push(answer.expect("it does not wait for the reader").expect("taken").seq);
        }
        numbers
    };
    let ((), numbers) = tokio::join!(talking, sending);
    let last = alex.says(room, "the end").await;

    // Whoever reads then gets all of it, once and in order, with what was left out meanwhile.
    let mut seqs = Vec::new();
    while seqs.last() != Some(&last) {
        match timeout(PATIENCE, updates.next()).await.expect("it goes on").expect("the session goes on") {
            Update::Event(event) if event.stream == stream(room) => seqs.push(event.seq),
            Update::Fault(fault) => panic!("{fault}"),
            Update::Gap(gap) => panic!("nothing was trimmed: {gap:?}"),
            _ => {}
        }
    }
    assert!(seqs.windows(2).all(|two| two[0] + 1 == two[1]), "{seqs:?}");
    assert!(
        numbers.iter().all(|seq| seqs.contains(seq)) && seqs.len() > EVENTS + SENDS,
        "{numbers:?} in {seqs:?}"
    );
    session.stop().await;
}

async fn an_event_stream_that_breaks_all_the_time_tells_everything_once(options: ClusterOptions) {
    const ROUNDS: usize = 80;
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let changing = alex.room("Lunch", &[]).await;
    let lasting = alex.room("Last", &[&sam]).await;
    let mut stream_of_sam = Sse::open(&sam.at(&world, 1), Some(sam.device), None).await;
    let mut begins = begins(&stream_of_sam.until_live().await);
    let talking = async {
        for round in 0..ROUNDS {
            let api = alex.at(&world, 1 + round % 2);
            api.add_members(changing, &[sam.id]).await.expect("added");
            for n in 0..3 {
                alex.says(changing, &format!("{round}.{n}")).await;
                alex.says(lasting, &format!("{round}.{n}")).await;
            }
            if round % 4 != 3 {
                api.remove_member(changing, sam.id).await.expect("removed");
                alex.says(changing, "to those who stay").await;
            }
        }
        alex.says(lasting, "the end").await;
    };
    let mut events: Vec<Value> = Vec::new();
    let reading = async {
        let mut node = 1;
        while events.last().is_none_or(|event| event["data"]["body"] != "the end") {
            // Each connection tells a few events, and is lost somewhere.
            for _ in 0..events.len() % 7 + 3 {
                match stream_of_sam.next().await.expect("the stream goes on") {
                    message if message.op() == "event" => events.push(message.data),
                    message if message.op() == "gap" => panic!("nothing was trimmed: {message:?}"),
                    message => begins.extend(self::begins(&[message])),
                }
                if events.last().is_some_and(|event| event["data"]["body"] == "the end") {
                    return;
                }
            }
            let last = stream_of_sam.last_id.clone();
            node = 3 - node;
            let device = (node == 2).then_some(sam.device);
            stream_of_sam = Sse::open(&sam.at(&world, node), device, last.as_deref()).await;
            // An id is told with what it stands for; without news the old one is good.
            stream_of_sam.last_id = stream_of_sam.last_id.take().or(last);
        }
    };
    tokio::join!(talking, reading);

    let mut seqs = BTreeMap::<String, u64>::new();
    for event in &events {
        let (name, seq) = (event["stream"].as_str().expect("a name"), event["seq"].as_u64().expect("a seq"));
        if event["kind"] == "room.added" {
            let room = event["data"]["room_id"].as_str().expect("an id");
            begins.insert((format!("room:{room}"), event["data"]["head"].as_u64().expect("a head")));
        }
        let before = seqs.insert(name.to_owned(), seq);
        let follows = before.is_some_and(|before| seq == before + 1);
        let may_begin = name == stream(changing) || before.is_none();
        let begins_here = may_begin
            && before.is_none_or(|before| seq > before)
            && begins.contains(&(name.to_owned(), seq - 1));
        assert!(follows || begins_here, "{name}: {seq} after {before:?}");
    }
    let told = events.iter().filter(|event| event["stream"] == stream(lasting)).count();
    assert!(told > ROUNDS * 3, "{told}");
}

/// Where streams begin, as `ready` says.
fn begins(messages: &[Message]) -> BTreeSet<(String, u64)> {
    let ready = messages.iter().filter(|message| message.op() == "ready");
    let streams = ready.filter_map(|message| message.data["streams"].as_object());
    streams.flatten().map(|(name, head)| (name.clone(), head.as_u64().expect("a head"))).collect()
}
