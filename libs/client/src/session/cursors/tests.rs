//! Tests of the cursors.

use std::collections::BTreeMap;

use protocol::frame::{Account, AgentSelf, RawJson, Sender, User};

use super::*;

const ME: Uuid = Uuid::from_u128(1);
const ROOM: Uuid = Uuid::from_u128(2);

fn own() -> String {
    format!("user:{ME}")
}

fn room() -> String {
    format!("room:{ROOM}")
}

fn ready(log_epoch: u128, streams: &[(String, u64)]) -> Ready {
    Ready {
        session_id: Uuid::nil(),
        epoch: 1,
        log_epoch: Uuid::from_u128(log_epoch),
        account: Account::User(User {
            id: ME,
            handle: "sam".into(),
            display_name: "Sam".into(),
            role: "user".into(),
        }),
        rooms: Vec::new(),
        streams: BTreeMap::from_iter(streams.to_vec()),
    }
}

fn event(stream: String, seq: u64, kind: &str, data: &str) -> Event {
    Event {
        stream,
        seq,
        id: Uuid::nil(),
        kind: kind.to_owned(),
        at: "2026-11-30T12:00:00Z".to_owned(),
        sender: Sender { kind: "system".to_owned(), id: None },
        data: RawJson::new(data).expect("JSON"),
    }
}

fn message(seq: u64) -> Event {
    event(room(), seq, "message.created", "{}")
}

fn change(seq: u64, kind: &str, head: u64) -> Event {
    event(own(), seq, kind, &format!(r#"{{"room_id":"{ROOM}","head":{head}}}"#))
}

fn followed(streams: &[(String, u64)]) -> Followed {
    let mut followed = Followed::new(Position::default());
    followed.ready(&ready(7, streams));
    followed
}

#[test]
fn each_event_is_delivered_once_and_in_order() {
    let mut followed = followed(&[(room(), 5)]);
    assert_eq!(followed.event(&message(6)), Verdict::Deliver);
    assert_eq!(followed.event(&message(7)), Verdict::Deliver);
    for seq in [5, 6, 7] {
        assert_eq!(followed.event(&message(seq)), Verdict::Drop(Fault::Duplicate { stream: room(), seq }));
    }
    assert_eq!(followed.position().cursors.get(&room()), Some(7));
}

#[test]
fn a_hole_is_refetched_once_and_then_passed() {
    let mut followed = followed(&[(room(), 5)]);
    let fault = Fault::Hole { stream: room(), expected: 6, got: 8 };
    assert_eq!(followed.event(&message(8)), Verdict::Refetch(fault.clone()));
    assert_eq!(followed.position().cursors.get(&room()), Some(5), "resumed from before the hole");
    followed.ready(&ready(7, &[(room(), 8)]));
    assert_eq!(followed.event(&message(8)), Verdict::DeliverWith(fault));
    assert_eq!(followed.event(&message(9)), Verdict::Deliver);
    // Another hole is another fault.
    assert!(matches!(followed.event(&message(11)), Verdict::Refetch(_)));
}

#[test]
fn a_stream_that_nobody_named_is_a_fault_but_no_loss() {
    let mut followed = followed(&[]);
    let fault = Fault::UnknownStream { stream: room(), seq: 4 };
    assert_eq!(followed.event(&message(4)), Verdict::DeliverWith(fault));
    assert_eq!(followed.event(&message(5)), Verdict::Deliver);
}

#[test]
fn ready_keeps_cursors_of_the_same_log_and_drops_streams_that_are_gone() {
    let mut followed = followed(&[(room(), 5), ("room:gone".into(), 2)]);
    assert_eq!(followed.event(&message(6)), Verdict::Deliver);
    followed.ready(&ready(7, &[(room(), 9), (own(), 3)]));
    let position = followed.position();
    assert_eq!((position.cursors.get(&room()), position.cursors.get(&own())), (Some(6), Some(3)));
    assert_eq!(position.cursors.len(), 2);

    followed.ready(&ready(8, &[(room(), 2)]));
    assert_eq!(followed.position().cursors.get(&room()), Some(2), "numbers of another log mean nothing");
    followed.gap(&Gap { stream: room(), floor: 0, head: 2 });
    assert_eq!(followed.event(&message(3)), Verdict::Deliver);
    assert_eq!(followed.position().log_epoch, Some(Uuid::from_u128(8)));
}

#[test]
fn a_gap_moves_the_cursor_in_either_direction() {
    let mut followed = followed(&[(room(), 5)]);
    for head in [40, 3] {
        followed.gap(&Gap { stream: room(), floor: 1, head });
        assert_eq!(followed.event(&message(head + 1)), Verdict::Deliver);
    }
}

#[test]
fn rooms_come_and_go_while_connected() {
    let mut followed = followed(&[(own(), 0)]);
    assert_eq!(followed.event(&change(1, "room.added", 3)), Verdict::Deliver);
    assert_eq!(followed.event(&message(4)), Verdict::Deliver);
    assert_eq!(followed.event(&change(2, "room.removed", 0)), Verdict::Deliver);
    assert_eq!(followed.position().cursors.get(&room()), None);
    assert_eq!(followed.event(&change(3, "room.added", 9)), Verdict::Deliver);
    assert_eq!(followed.event(&message(10)), Verdict::Deliver);
}

#[test]
fn events_that_overtake_nothing_still_come_after_the_removal() {
    let mut followed = followed(&[(own(), 0), (room(), 5)]);
    let removed = event(own(), 1, "room.removed", &format!(r#"{{"room_id":"{ROOM}","seq":8}}"#));
    assert_eq!(followed.event(&removed), Verdict::Deliver);
    assert_eq!(followed.position().cursors.get(&room()), None, "no longer asked for");
    assert_eq!(followed.event(&message(6)), Verdict::Deliver);
    assert_eq!(followed.event(&message(7)), Verdict::Deliver);
    let leaked = Fault::UnknownStream { stream: room(), seq: 8 };
    assert_eq!(followed.event(&message(8)), Verdict::DeliverWith(leaked));
}

#[test]
fn a_removal_before_what_was_given_ends_nothing() {
    let mut followed = followed(&[(own(), 0), (room(), 9)]);
    let removed = event(own(), 1, "room.removed", &format!(r#"{{"room_id":"{ROOM}","seq":7}}"#));
    assert_eq!(followed.event(&removed), Verdict::Deliver);
    assert_eq!(followed.event(&change(2, "room.added", 7)), Verdict::Deliver);
    assert_eq!(followed.event(&message(10)), Verdict::Deliver);
}

#[test]
fn a_room_added_while_away_begins_where_ready_says() {
    let mut followed = Followed::new(Position::default());
    followed.streams.insert(own(), Cursor::at(0));
    followed.ready(&ready(7, &[(own(), 5), (room(), 8)]));
    // Added, removed, added again: how it came to be what `ready` says is of no matter.
    for (seq, kind, head) in [
        (1, "room.added", 3),
        (2, "room.removed", 0),
        (3, "room.added", 6),
        (4, "room.removed", 0),
        (5, "room.added", 7),
    ] {
        assert_eq!(followed.event(&change(seq, kind, head)), Verdict::Deliver);
        assert_eq!(followed.position().cursors.get(&room()), Some(8));
    }
    assert_eq!(followed.event(&message(9)), Verdict::Deliver);
    assert_eq!(followed.event(&message(10)), Verdict::Deliver);
}

#[test]
fn a_room_that_was_left_and_is_there_again_begins_anew() {
    let mut followed = followed(&[(own(), 0), (room(), 5)]);
    let removed = event(own(), 1, "room.removed", &format!(r#"{{"room_id":"{ROOM}","seq":8}}"#));
    // What lay before the removal never came.
    assert_eq!(followed.event(&removed), Verdict::Deliver);
    followed.ready(&ready(7, &[(own(), 2), (room(), 20)]));
    assert_eq!(followed.event(&change(2, "room.added", 11)), Verdict::Deliver);
    assert_eq!(followed.event(&message(21)), Verdict::Deliver);
}

#[test]
fn old_news_about_rooms_does_not_touch_what_ready_says() {
    let mut followed = followed(&[(own(), 0), (room(), 5)]);
    assert_eq!(followed.event(&message(6)), Verdict::Deliver);
    // Away: removed and added again.
    followed.ready(&ready(7, &[(own(), 2), (room(), 20)]));
    assert_eq!(followed.event(&change(1, "room.removed", 0)), Verdict::Deliver);
    assert_eq!(followed.event(&change(2, "room.added", 15)), Verdict::Deliver);
    assert_eq!(followed.event(&message(7)), Verdict::Deliver);
}

#[test]
fn an_agents_own_stream_begins_where_the_server_begins_and_repeats_what_is_not_acknowledged() {
    let stream = format!("agent:{ME}");
    let agent = AgentSelf { id: ME, handle: "helper".into(), display_name: "Helper".into() };
    let ready = Ready { account: Account::Agent(agent), ..ready(7, &[(stream.clone(), 31)]) };
    let requested = |seq| event(stream.clone(), seq, "run.requested", "{}");
    let mut followed = Followed::new(Position::default());
    followed.ready(&ready);
    assert!(followed.position().cursors.is_empty(), "the server keeps it");
    for seq in [29, 30] {
        assert_eq!(followed.event(&requested(seq)), Verdict::Deliver, "{seq}");
    }
    followed.ready(&ready);
    for (seq, verdict) in [(29, Verdict::Known), (30, Verdict::Known), (31, Verdict::Deliver)] {
        assert_eq!(followed.event(&requested(seq)), verdict, "{seq}");
    }
    let hole = Fault::Hole { stream: stream.clone(), expected: 32, got: 33 };
    assert_eq!(followed.event(&requested(33)), Verdict::Refetch(hole));
}
