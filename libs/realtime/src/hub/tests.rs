//! The hub against a model: however events come, each subscriber is given each once and in order.

use std::time::Duration;

use domain::{DeviceKind, EventId, EventKind, Sender, SlotSessionId};
use proptest::prelude::*;
use store::devices::Slot;

use super::*;
use crate::{ConnectionMeta, Limits};

fn hub() -> Arc<Hub> {
    Hub::new(2, 4, RealtimeMetrics::register(&prometheus::Registry::new()).unwrap())
}

fn behind() -> IntGauge {
    IntGauge::new("behind", "Connections that are behind").unwrap()
}

fn connection(user: UserId, frames: usize) -> Arc<Connection> {
    let meta =
        ConnectionMeta { id: ConnectionId::new(), principal: user.into(), session: AuthSessionId::new() };
    Arc::new(Connection::new(meta, Hold::Nothing, Limits { frames, bytes: 1 << 20 }, behind()))
}

fn event(stream: StreamRef, seq: u64, kind: EventKind, data: &str) -> Event {
    Event {
        stream,
        seq,
        id: EventId::new(),
        kind,
        at: jiff::Timestamp::UNIX_EPOCH,
        sender: Sender::System,
        data: data.into(),
        trace: None,
    }
}

fn message(stream: StreamRef, seq: u64) -> Event {
    event(stream, seq, EventKind::MessageCreated, "{}")
}

fn drained(connection: &Connection) -> Vec<Arc<Encoded>> {
    let mut batch = Vec::new();
    while connection.outbox.has_frames() {
        connection.outbox.take(&mut batch, 100);
    }
    batch
}

/// What a writer does when it is asked to catch up, with `read` as the log.
fn catch_up(connection: &Connection, stream: StreamRef, hub: &Hub, head: u64) -> Vec<u64> {
    let seqs = |frames: &[Arc<Encoded>]| frames.iter().filter_map(|f| f.as_event()).map(|e| e.seq).collect();
    match hub.pull(connection, stream) {
        Pulled::Level => Vec::new(),
        Pulled::Recent(frames) => seqs(&frames),
        Pulled::Read { after } => {
            let page: Vec<u64> = (after + 1..=head.min(after + 4)).collect();
            let to = page.last().copied().unwrap_or(u64::MAX);
            if hub.advance(connection, stream, after, to) { page } else { Vec::new() }
        }
    }
}

/// What waits in an outbox: the seqs of its events.
fn waiting(connection: &Connection) -> Vec<u64> {
    drained(connection).iter().filter_map(|frame| frame.as_event()).map(|event| event.seq).collect()
}

#[test]
fn an_event_from_memory_goes_out_once_and_a_hole_waits_for_the_relay() {
    let (hub, room) = (hub(), StreamRef::from(RoomId::new()));
    let alex = connection(UserId::new(), 10);
    hub.register(&alex);
    hub.subscribe(&alex, room, 0, 0);
    hub.publish(message(room, 1), Path::Local);
    hub.publish(message(room, 1), Path::Remote);
    hub.publish(message(room, 3), Path::Local);
    assert_eq!(waiting(&alex), [1]);
    hub.publish(message(room, 2), Path::Remote);
    hub.publish(message(room, 3), Path::Remote);
    assert_eq!(waiting(&alex), [2, 3]);
}

#[test]
fn a_member_who_left_gets_nothing_more_and_one_who_came_back_stays() {
    let (hub, room_id, user) = (hub(), RoomId::new(), UserId::new());
    let room = StreamRef::from(room_id);
    let inbox = StreamRef::from(user);
    let (alex, sam) = (connection(user, 10), connection(UserId::new(), 10));
    for one in [&alex, &sam] {
        hub.register(one);
        hub.subscribe(one, room, 0, 0);
    }
    hub.subscribe(&alex, inbox, 0, 0);
    let left = format!(r#"{{"user_id":"{user}"}}"#);
    // Added again: the person's own stream is ahead of the room's on this node.
    hub.publish(
        event(inbox, 1, EventKind::RoomRemoved, &format!(r#"{{"room_id":"{room_id}","seq":1}}"#)),
        Path::Remote,
    );
    assert!(!alex.follows(room));
    let added = format!(r#"{{"room_id":"{room_id}","kind":"group","name":null,"head":1}}"#);
    hub.publish(event(inbox, 2, EventKind::RoomAdded, &added), Path::Remote);
    assert!(alex.follows(room));
    hub.publish(event(room, 1, EventKind::MemberLeft, &left), Path::Remote);
    assert!(alex.follows(room), "the subscription began after the leave");
    hub.publish(message(room, 2), Path::Remote);
    hub.publish(event(room, 3, EventKind::MemberLeft, &left), Path::Remote);
    hub.publish(message(room, 4), Path::Remote);
    let seen: Vec<_> = drained(&alex)
        .iter()
        .filter_map(|frame| frame.as_event())
        .map(|event| (event.stream, event.seq))
        .collect();
    assert_eq!(seen, [(inbox, 1), (inbox, 2), (room, 2)]);
    assert_eq!(waiting(&sam), [1, 2, 3, 4]);
}

#[test]
fn an_agent_that_leaves_concerns_nobody_who_follows_the_room() {
    let (hub, room) = (hub(), StreamRef::from(RoomId::new()));
    let alex = connection(UserId::new(), 10);
    hub.register(&alex);
    hub.subscribe(&alex, room, 0, 0);
    let left = format!(r#"{{"agent_id":"{}"}}"#, alex.meta.principal.id());
    hub.publish(event(room, 1, EventKind::MemberLeft, &left), Path::Remote);
    hub.publish(message(room, 2), Path::Remote);
    assert_eq!(waiting(&alex), [1, 2]);
}

#[test]
fn the_newer_connection_of_a_device_closes_the_older_one_whichever_registers_first() {
    let (hub, user, device) = (hub(), UserId::new(), DeviceId::new());
    let of_epoch = |epoch| {
        let meta =
            ConnectionMeta { id: ConnectionId::new(), principal: user.into(), session: AuthSessionId::new() };
        let slot = Slot { session: SlotSessionId::new(), device, kind: DeviceKind::Web, epoch };
        Arc::new(Connection::new(meta, Hold::Device(slot), Limits { frames: 4, bytes: 1000 }, behind()))
    };
    let (first, second, third) = (of_epoch(1), of_epoch(2), of_epoch(3));
    hub.register(&second);
    hub.register(&first);
    assert_eq!(first.outbox.closing(), Some(CloseCode::DeviceReplaced));
    assert_eq!(second.outbox.closing(), None);
    hub.register(&third);
    assert_eq!(second.outbox.closing(), Some(CloseCode::DeviceReplaced));
    hub.fence(device.0, 3);
    assert_eq!(third.outbox.closing(), None, "its own epoch does not fence it");
    hub.fence(device.0, 4);
    assert_eq!(third.outbox.closing(), Some(CloseCode::DeviceReplaced));
}

#[test]
fn ended_sign_ins_close_their_connections_alone() {
    let hub = hub();
    let (alex, sam) = (connection(UserId::new(), 4), connection(UserId::new(), 4));
    hub.register(&alex);
    hub.register(&sam);
    hub.revoke(alex.meta.session.0);
    assert_eq!((alex.outbox.closing(), sam.outbox.closing()), (Some(CloseCode::SignInEnded), None));
    hub.revoke(sam.meta.principal.id());
    assert_eq!(sam.outbox.closing(), Some(CloseCode::SignInEnded));
}

/// One step of a schedule: what the network, the relay and a slow socket may do.
#[derive(Debug, Clone)]
enum Step {
    Commit,
    Publish(u64),
    Connect(u64),
    Drain(usize),
    CatchUp(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Commit),
        6 => (0_u64..6).prop_map(Step::Publish),
        1 => (0_u64..40).prop_map(Step::Connect),
        2 => (0_usize..6).prop_map(Step::Drain),
        3 => (0_usize..6).prop_map(Step::CatchUp),
    ];
    proptest::collection::vec(step, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_subscriber_gets_every_event_once_in_order(steps in steps()) {
        let (hub, room) = (hub(), StreamRef::from(RoomId::new()));
        let mut head = 0_u64;
        let mut people: Vec<(Arc<Connection>, u64, Vec<u64>)> = Vec::new();
        let mut schedule = steps;
        // In the end everything settles: the relay has come to the head, and everyone drains and catches up.
        let settle = |people: usize| (0..people).flat_map(|who| [Step::Drain(who), Step::CatchUp(who)]).cycle().take(people * 100);
        let mut settled = false;
        loop {
            let batch = std::mem::take(&mut schedule);
            for step in batch {
                match step {
                    Step::Commit => head += 1,
                    Step::Publish(back) => if head > back { hub.publish(message(room, head - back), Path::Remote) },
                    Step::Connect(cursor) if people.len() < 6 => {
                        let cursor = cursor.min(head);
                        let one = connection(UserId::new(), 3);
                        hub.register(&one);
                        hub.subscribe(&one, room, cursor, head);
                        people.push((one, cursor, Vec::new()));
                    }
                    Step::Connect(_) => {}
                    Step::Drain(who) => if let Some((one, _, got)) = people.get_mut(who) {
                        got.extend(waiting(one));
                    },
                    Step::CatchUp(who) => if let Some((one, _, got)) = people.get_mut(who) {
                        // The writer catches up when its queue is empty.
                        got.extend(waiting(one));
                        one.outbox.take(&mut Vec::new(), 1);
                        got.extend(catch_up(one, room, &hub, head));
                    },
                }
            }
            if settled { break }
            settled = true;
            for seq in 1..=head { hub.publish(message(room, seq), Path::Remote); }
            schedule = settle(people.len()).collect();
        }
        for (_, cursor, got) in &people {
            let expected: Vec<u64> = (cursor + 1..=head).collect();
            prop_assert_eq!(got, &expected);
        }
    }
}

#[test]
fn a_connection_counts_as_behind_until_it_is_level_or_gone() {
    let (hub, room, behind) = (hub(), StreamRef::from(RoomId::new()), behind());
    let open = || {
        let meta = ConnectionMeta {
            id: ConnectionId::new(),
            principal: UserId::new().into(),
            session: AuthSessionId::new(),
        };
        let limits = Limits { frames: 1, bytes: 1 << 20 };
        let connection = Arc::new(Connection::new(meta, Hold::Nothing, limits, behind.clone()));
        hub.register(&connection);
        hub.subscribe(&connection, room, 0, 0);
        connection
    };
    let (alex, sam) = (open(), open());
    hub.publish(message(room, 1), Path::Local);
    assert_eq!(behind.get(), 0);
    hub.publish(message(room, 2), Path::Local);
    hub.publish(message(room, 3), Path::Local);
    // Nobody wrote anything meanwhile.
    assert_eq!(behind.get(), 2);
    assert_eq!(waiting(&alex), [1]);
    alex.outbox.take(&mut Vec::new(), 100);
    assert_eq!(catch_up(&alex, room, &hub, 3), [2, 3]);
    alex.outbox.caught_up();
    assert_eq!(behind.get(), 1);
    hub.unregister(&sam);
    drop(sam);
    assert_eq!(behind.get(), 0);
}

#[test]
fn a_room_that_was_added_waits_until_the_person_is_told() {
    let (hub, room, user) = (hub(), RoomId::new(), UserId::new());
    let (inbox, stream) = (StreamRef::from(user), StreamRef::from(room));
    let sam = connection(UserId::new(), 10);
    hub.register(&sam);
    hub.subscribe(&sam, stream, 4, 4);
    let added = format!(r#"{{"room_id":"{room}","kind":"group","name":null,"head":4}}"#);
    // One that lags in its own stream, and one that does not.
    let (behind, level) = (connection(user, 10), connection(user, 10));
    for (connection, last) in [(&behind, 2), (&level, 6)] {
        hub.register(connection);
        hub.subscribe(connection, inbox, last, 6);
    }
    hub.publish(event(inbox, 7, EventKind::RoomAdded, &added), Path::Remote);
    hub.publish(message(stream, 5), Path::Remote);
    assert_eq!(waiting(&level), [7, 5]);
    assert!(waiting(&behind).is_empty());
    assert_eq!(behind.streams(), [inbox, stream], "in this order they are read");
    assert_eq!(catch_up(&behind, inbox, &hub, 7), [3, 4, 5, 6]);
    assert_eq!(catch_up(&behind, inbox, &hub, 7), [7]);
    assert_eq!(catch_up(&behind, stream, &hub, 5), [5]);
    hub.publish(message(stream, 6), Path::Remote);
    assert_eq!((waiting(&behind), waiting(&level), waiting(&sam)), (vec![6], vec![6], vec![5, 6]));
}

#[test]
fn a_page_read_when_the_person_was_back_is_not_given_twice() {
    let (hub, room, user) = (hub(), RoomId::new(), UserId::new());
    let (inbox, stream) = (StreamRef::from(user), StreamRef::from(room));
    let alex = connection(user, 10);
    hub.register(&alex);
    hub.subscribe(&alex, stream, 1, 3);
    hub.subscribe(&alex, inbox, 0, 0);
    // Removed by 4 and added by 5, but this node knows of neither when the page is read.
    assert!(matches!(hub.pull(&alex, stream), Pulled::Read { after: 1 }));
    assert!(hub.advance(&alex, stream, 1, 6));
    let removed = format!(r#"{{"room_id":"{room}","seq":4}}"#);
    hub.publish(event(inbox, 1, EventKind::RoomRemoved, &removed), Path::Remote);
    let added = format!(r#"{{"room_id":"{room}","kind":"group","name":null,"head":4}}"#);
    hub.publish(event(inbox, 2, EventKind::RoomAdded, &added), Path::Remote);
    for seq in 4..=7 {
        let left = format!(r#"{{"user_id":"{user}"}}"#);
        let kind = if seq == 4 { EventKind::MemberLeft } else { EventKind::MessageCreated };
        hub.publish(event(stream, seq, kind, &left), Path::Remote);
    }
    let of_room: Vec<u64> = drained(&alex)
        .iter()
        .filter_map(|frame| frame.as_event())
        .filter(|event| event.stream == stream)
        .map(|event| event.seq)
        .collect();
    assert_eq!(of_room, [7]);
}

#[test]
fn a_page_read_for_a_subscription_that_is_no_more_is_not_given() {
    let (hub, room, user) = (hub(), RoomId::new(), UserId::new());
    let (inbox, stream) = (StreamRef::from(user), StreamRef::from(room));
    let alex = connection(user, 10);
    hub.register(&alex);
    hub.subscribe(&alex, stream, 1, 3);
    hub.subscribe(&alex, inbox, 0, 0);
    assert!(matches!(hub.pull(&alex, stream), Pulled::Read { after: 1 }));
    // While the page is read they are removed by 4, and added again.
    let removed = format!(r#"{{"room_id":"{room}","seq":4}}"#);
    hub.publish(event(inbox, 1, EventKind::RoomRemoved, &removed), Path::Remote);
    assert!(!hub.advance(&alex, stream, 1, 6), "they are no subscriber");
    let added = format!(r#"{{"room_id":"{room}","kind":"group","name":null,"head":4}}"#);
    hub.publish(event(inbox, 2, EventKind::RoomAdded, &added), Path::Remote);
    assert!(!hub.advance(&alex, stream, 1, 6), "the subscription is another one");
    let left = format!(r#"{{"user_id":"{user}"}}"#);
    hub.publish(event(stream, 4, EventKind::MemberLeft, &left), Path::Remote);
    hub.publish(message(stream, 5), Path::Remote);
    let of_room: Vec<_> = drained(&alex)
        .iter()
        .filter_map(|frame| frame.as_event())
        .filter(|event| event.stream == stream)
        .map(|event| event.seq)
        .collect();
    assert_eq!(of_room, [5]);
}

#[tokio::test(start_paused = true)]
async fn a_drain_sends_many_away_over_its_spread_and_who_comes_then_at_once() {
    let hub = hub();
    let there: Vec<_> = (0..20_000).map(|_| connection(UserId::new(), 8)).collect();
    there.iter().for_each(|connection| hub.register(connection));
    let began = Instant::now();
    hub.drain(Duration::from_secs(5)).await;
    let took = began.elapsed();
    assert!((5000..5100).contains(&took.as_millis()), "{took:?}");
    assert!(there.iter().all(|connection| connection.outbox.closing() == Some(CloseCode::NodeDrains)));
    let late = connection(UserId::new(), 8);
    hub.register(&late);
    assert_eq!(late.outbox.closing(), Some(CloseCode::NodeDrains));
}
