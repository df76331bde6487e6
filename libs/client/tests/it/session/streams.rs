//! Events: once, in order, none left out.

use client::session::{Fault, Position};
use client::{Session, SessionSettings, State, Update};
use protocol::frame::{Cursors, Gap};
use protocol::{ClientFrame, Encoding, ServerFrame};

use super::{event_of, next_content, open, settings, until};
use crate::fake::{Gateway, LOG, hello, message, room};

#[tokio::test]
async fn begins_where_the_user_was() {
    let gateway = Gateway::start().await;
    let mut cursors = Cursors::default();
    cursors.insert(room(), 3).unwrap();
    let (_session, mut updates) = Session::open(SessionSettings {
        from: Position { cursors: cursors.clone(), log_epoch: Some(LOG) },
        encoding: Encoding::Proto,
        ..settings(&[&gateway])
    });
    let (mut peer, frame) = gateway.accept_live(&[(room(), 5)]).await;
    let ClientFrame::Identify(identify) = frame else { panic!("{frame:?}") };
    assert_eq!((identify.cursors, identify.log_epoch), (cursors, Some(LOG)));
    peer.send(&message(4)).await;
    assert_eq!(event_of(next_content(&mut updates).await), 4);
}

#[tokio::test]
async fn an_event_that_comes_twice_is_given_once_and_reported() {
    let gateway = Gateway::start().await;
    let (_session, mut updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[(room(), 0)]).await;
    for seq in [1, 1, 2] {
        peer.send(&message(seq)).await;
    }
    assert_eq!(event_of(next_content(&mut updates).await), 1);
    let duplicate = Update::Fault(Fault::Duplicate { stream: room(), seq: 1 });
    assert_eq!(next_content(&mut updates).await, duplicate);
    assert_eq!(event_of(next_content(&mut updates).await), 2);
}

#[tokio::test]
async fn a_hole_is_reported_and_filled_by_a_resume() {
    let gateway = Gateway::start().await;
    let (_session, mut updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[(room(), 0)]).await;
    peer.send(&message(1)).await;
    peer.send(&message(4)).await;
    assert_eq!(event_of(next_content(&mut updates).await), 1);
    let hole = Update::Fault(Fault::Hole { stream: room(), expected: 2, got: 4 });
    assert_eq!(next_content(&mut updates).await, hole);
    let (mut peer, frame) = gateway.accept_live(&[(room(), 4)]).await;
    let ClientFrame::Resume(resume) = frame else { panic!("{frame:?}") };
    assert_eq!(resume.cursors.get(&room()), Some(1));
    for seq in 2..=4 {
        peer.send(&message(seq)).await;
        assert_eq!(event_of(next_content(&mut updates).await), seq);
    }
}

#[tokio::test]
async fn a_gap_is_told_and_events_go_on_after_it() {
    let gateway = Gateway::start().await;
    let (_session, mut updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[(room(), 9)]).await;
    let gap = Gap { stream: room(), floor: 20, head: 30 };
    peer.send(&ServerFrame::Gap(gap.clone())).await;
    peer.send(&message(31)).await;
    assert_eq!(next_content(&mut updates).await, Update::Gap(gap));
    assert_eq!(event_of(next_content(&mut updates).await), 31);
}

#[tokio::test]
async fn a_slow_user_slows_the_server_and_loses_nothing() {
    let gateway = Gateway::start().await;
    let (session, mut updates) = Session::open(SessionSettings { updates: 1, ..settings(&[&gateway]) });
    let mut peer = gateway.accept().await;
    let ServerFrame::Hello(plain) = hello() else { panic!() };
    peer.send(&ServerFrame::Hello(protocol::frame::Hello { heartbeat_interval_ms: 50, ..plain })).await;
    peer.any_frame().await;
    peer.send(&crate::fake::ready(&[(room(), 0)])).await;
    peer.send(&ServerFrame::Live).await;
    for seq in 1..=50 {
        peer.send(&message(seq)).await;
    }
    // The user sleeps, the heart beats: none of these pings is answered in time, and none has to be.
    for _ in 0..8 {
        assert_eq!(peer.any_frame().await, ClientFrame::Ping);
    }
    until(&mut updates, |state| *state == State::Live).await;
    for seq in 1..=50 {
        assert_eq!(event_of(next_content(&mut updates).await), seq);
    }
    assert_eq!(*session.state().borrow(), State::Live);
}
