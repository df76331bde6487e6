//! The database goes away and comes back while people talk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use client::api::{NewMessage, Range};
use client::socket::Incoming;
use client::{Api, ApiError, Credential};
use domain::{DeviceKind, RoomId};
use protocol::frame::Event;
use protocol::{CloseCode, Encoding, ServerFrame};
use testkit::postgres::OwnServer;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::sse::Sse;
use crate::wire::{Wire, body, stream};
use crate::world::{PATIENCE, World};

/// What a sender came to know of its messages: the event's seq, by nonce.
type Acknowledged = BTreeMap<String, u64>;

#[derive(Default)]
struct Course {
    acknowledged: AtomicUsize,
    unavailable: [AtomicUsize; 2],
    is_over: AtomicBool,
}

impl Course {
    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
    }

    async fn until_more(&self, more: usize) {
        let before = self.acknowledged.load(Ordering::Relaxed);
        self.until("more is acknowledged", |course| {
            course.acknowledged.load(Ordering::Relaxed) >= before + more
        })
        .await;
    }

    /// Notes an answer that says so, and waits a little before the same is sent again.
    async fn unavailable(&self, who: usize) {
        self.unavailable[who].fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_database_that_goes_and_comes_back_disconnects_nobody_and_loses_nothing() {
    let mut server = OwnServer::durable().await;
    let database = server.database("outage").await.expect("a database");
    let mut world = World::at(database, |options| {
        // Nobody pings in this test, however long it takes.
        options.nodes(2, 2, 1).setting("gateway.heartbeat_interval", "10m")
    })
    .await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let course = Arc::new(Course::default());
    let heads = watch::Sender::new(None);
    let mut following = Vec::new();
    for gateway in [1, 2, 1, 2] {
        let wire = world.connect_device(&sam, sam.new_device(DeviceKind::Web).await, gateway).await;
        let (outgoing, incoming) = wire.split();
        following.push((outgoing, tokio::spawn(follow(incoming, room, heads.subscribe()))));
    }
    let mut streaming = Sse::open(&sam.api, None, None).await;
    streaming.until_live().await;
    let by_socket = world.connect(&alex, 1).await;
    let senders = [
        tokio::spawn(talk_by_socket(by_socket, room, Arc::clone(&course))),
        tokio::spawn(talk_by_rest(sam.at(&world, 2), room, Arc::clone(&course))),
    ];
    let mut idle = world.connect(&sam, 2).await;
    let nodes: Vec<String> = world.cluster.names().into_iter().map(str::to_owned).collect();

    course.until_more(100).await;
    server.stop().await.expect("stopped");
    for node in &nodes {
        let reason = world.cluster.until_not_ready(node).await;
        assert!(reason.contains("database") || reason.contains("listener"), "{reason}");
        assert_eq!(world.cluster.admin(node, "/healthz/live").await.expect("an answer").0, 200);
    }
    let before = [0, 1].map(|who| course.unavailable[who].load(Ordering::Relaxed));
    course
        .until("both are told", |course| {
            (0..2).all(|who| course.unavailable[who].load(Ordering::Relaxed) > before[who])
        })
        .await;
    // A connection that is open answers; who comes now is told to come again.
    idle.ping().await;
    let Err(ApiError::Refused { status: 503, problem, retry_after: Some(_) }) = sam.api.ticket().await else {
        panic!("a ticket without a database");
    };
    assert_eq!(problem.code, "unavailable");
    let ticket = Credential::Ticket("0".repeat(32));
    let refused = Wire::open(&world.cluster.gateway_url(1), &ticket, Encoding::Json).await.err();
    let refused = refused.expect("nobody is let in");
    assert_eq!(refused.close_code(), Some(CloseCode::Internal), "{refused}");
    server.start_again().await.expect("back");
    for node in &nodes {
        world.cluster.until_ready(node).await;
    }
    course.until_more(100).await;
    server.crash().await.expect("crashed");
    server.start_again().await.expect("back");
    course.until_more(100).await;
    server.restart().await.expect("back");
    course.until_more(100).await;
    course.is_over.store(true, Ordering::Relaxed);

    let mut acknowledged = Acknowledged::new();
    for sender in senders {
        acknowledged.extend(sender.await.expect("a sender"));
    }
    let log = log(&sam.at(&world, 1), room).await;
    let said: Vec<&Event> = log.iter().filter(|event| event.kind == "message.created").collect();
    // Each message has its nonce as body, and was sent until it was acknowledged.
    let there: Acknowledged = said.iter().map(|event| (body(event), event.seq)).collect();
    assert_eq!((there.len(), &there), (said.len(), &acknowledged));

    let head = log.last().expect("events").seq;
    heads.send_replace(Some(head));
    for (_outgoing, follower) in following {
        let events = timeout(PATIENCE, follower).await.expect("everyone has everything").expect("no panic");
        assert_eq!(events[..], log[log.len() - events.len()..]);
        assert_eq!(events.len(), said.len(), "from the first message on");
    }
    let mut last = 0;
    while last < head {
        let event = streaming.event().await;
        assert_eq!(event["stream"], stream(room));
        let seq = event["seq"].as_u64().expect("a seq");
        assert!(last == 0 || seq == last + 1, "{seq} after {last}");
        last = seq;
    }
}

/// Reads until the head that is told in the end.
async fn follow(mut incoming: Incoming, room: RoomId, mut head: watch::Receiver<Option<u64>>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        if events.last().is_some_and(|last| Some(last.seq) == *head.borrow_and_update()) {
            return events;
        }
        tokio::select! {
            frame = incoming.receive() => match frame.expect("nobody is disconnected") {
                ServerFrame::Event(event) if event.stream == stream(room) => events.push(event),
                _ => {}
            },
            changed = head.changed() => changed.expect("the test goes on"),
        }
    }
}

async fn talk_by_socket(mut wire: Wire, room: RoomId, course: Arc<Course>) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    let mut number = 0;
    while !course.is_over.load(Ordering::Relaxed) {
        let nonce = format!("socket-{number}");
        number += 1;
        let seq = loop {
            wire.send(room, &nonce, &nonce).await;
            let answer = wire
                .find(|frame| match frame {
                    ServerFrame::Sent(sent) => Some(Ok(sent.seq)),
                    ServerFrame::Error(error) => Some(Err(error.clone())),
                    _ => None,
                })
                .await;
            match answer {
                Ok(seq) => break seq,
                Err(error) => {
                    assert!(["unavailable", "timeout"].contains(&&*error.code), "{error:?}");
                    assert_eq!(error.nonce.as_ref(), Some(&nonce));
                    course.unavailable(0).await;
                }
            }
        };
        acknowledged.insert(nonce, seq);
        course.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

async fn talk_by_rest(api: Api, room: RoomId, course: Arc<Course>) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    let mut number = 0;
    while !course.is_over.load(Ordering::Relaxed) {
        let nonce = format!("rest-{number}");
        number += 1;
        let message = NewMessage { nonce: nonce.clone(), ..NewMessage::new(nonce.clone()) };
        let event = loop {
            match api.send_message(room, &message).await {
                Ok(sent) => break sent.event,
                Err(ApiError::Refused { status: 503 | 504, problem, .. }) => {
                    assert!(["unavailable", "timeout"].contains(&&*problem.code), "{problem}");
                    course.unavailable(1).await;
                }
                Err(other) => panic!("{other}"),
            }
        };
        acknowledged.insert(nonce, event.seq);
        course.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

/// Every event of a room.
async fn log(api: &Api, room: RoomId) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.seq);
        let page = api.events(room, &Range::After(after), Some(1000)).await.expect("a page");
        events.extend(page.items);
        if page.next.is_none() {
            return events;
        }
    }
}
