//! Messages, until they are acknowledged.

use std::time::Duration;

use client::session::SendError;
use client::{Session, SessionSettings};
use domain::RoomId;
use protocol::frame::{ErrorFrame, Focus, Hello, Read, Send};
use protocol::{ClientFrame, ServerFrame};
use tokio::time::timeout;

use super::{event_of, next_content, open, settings};
use crate::fake::{Gateway, PATIENCE, Peer, ROOM, hello, message, ready, room, sent};

async fn next_send(peer: &mut Peer<tokio::net::TcpStream>) -> Send {
    match peer.frame().await {
        ClientFrame::Send(send) => send,
        other => panic!("a send, not {other:?}"),
    }
}

fn refusal(nonce: &str, code: &str) -> ServerFrame {
    let nonce = Some(nonce.to_owned());
    ServerFrame::Error(ErrorFrame { nonce, ..ErrorFrame::new(code, "no") })
}

#[tokio::test]
async fn a_message_survives_losses_with_its_nonce() {
    let gateway = Gateway::start().await;
    // So late that only the new connection can be the reason to send again.
    let resend = Duration::from_secs(3600);
    let (session, _updates) = Session::open(SessionSettings { resend, ..settings(&[&gateway]) });
    let sending = session.send(RoomId(ROOM), "hello");
    let serving = async {
        let (mut peer, _) = gateway.accept_live(&[]).await;
        let first = next_send(&mut peer).await;
        assert_eq!((first.room_id, first.body.as_str()), (ROOM, "hello"));
        drop(peer);
        let (mut peer, _) = gateway.accept_live(&[]).await;
        let second = next_send(&mut peer).await;
        assert_eq!(first, second);
        peer.send(&sent(&second.nonce, 7)).await;
        peer
    };
    let (answer, _peer) = tokio::join!(sending, serving);
    assert_eq!(answer.unwrap().seq, 7);
}

#[tokio::test]
async fn an_answer_that_never_comes_is_asked_for_again() {
    let gateway = Gateway::start().await;
    let (session, _updates) =
        Session::open(SessionSettings { resend: Duration::from_millis(50), ..settings(&[&gateway]) });
    let serving = async {
        let (mut peer, _) = gateway.accept_live(&[]).await;
        let first = next_send(&mut peer).await;
        let again = next_send(&mut peer).await;
        assert_eq!(first, again);
        peer.send(&sent(&again.nonce, 1)).await;
        peer
    };
    let (answer, _peer) = tokio::join!(session.send(RoomId(ROOM), "hello"), serving);
    assert_eq!(answer.unwrap().seq, 1);
}

#[tokio::test]
async fn a_refusal_is_final_unless_it_may_pass() {
    let gateway = Gateway::start().await;
    let (session, _updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[]).await;
    let serving = async {
        let send = next_send(&mut peer).await;
        peer.send(&refusal(&send.nonce, "not_found")).await;
    };
    let (answer, ()) = tokio::join!(session.send(RoomId(ROOM), "hello"), serving);
    let refused = SendError::Refused { code: "not_found".into(), detail: "no".into() };
    assert_eq!(answer, Err(refused));

    let serving = async {
        let first = next_send(&mut peer).await;
        peer.send(&refusal(&first.nonce, "rate_limited")).await;
        let later = next_send(&mut peer).await;
        assert_eq!(first, later);
        peer.send(&sent(&later.nonce, 2)).await;
    };
    let (answer, ()) = tokio::join!(session.send(RoomId(ROOM), "hello"), serving);
    assert_eq!(answer.unwrap().seq, 2);
}

#[tokio::test]
async fn who_waits_when_it_stops_is_told() {
    let gateway = Gateway::start().await;
    let (session, _updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[]).await;
    let stopping = async {
        next_send(&mut peer).await;
        tokio::join!(session.stop(), peer.closed());
    };
    let (answer, ()) = tokio::join!(session.send(RoomId(ROOM), "hello"), stopping);
    assert_eq!(answer, Err(SendError::Stopped));
    assert_eq!(session.send(RoomId(ROOM), "too late").await, Err(SendError::Stopped));
}

#[tokio::test]
async fn focus_and_reads_are_said_again_and_typing_is_not() {
    let gateway = Gateway::start().await;
    let (session, _updates) = open(&[&gateway]);
    let room = RoomId(ROOM);
    session.typing(room).await;
    session.read(room, 4).await;
    session.read(room, 3).await;
    session.focus(Some(room), false).await;
    let focus = ClientFrame::Focus(Focus { room_id: Some(ROOM), idle: false });
    let (mut peer, _) = gateway.accept_live(&[]).await;
    assert_eq!(peer.frame().await, focus);
    assert_eq!(peer.frame().await, ClientFrame::Read(Read { room_id: ROOM, seq: 4 }));
    session.read(room, 5).await;
    assert_eq!(peer.frame().await, ClientFrame::Read(Read { room_id: ROOM, seq: 5 }));
    session.typing(room).await;
    assert!(matches!(peer.frame().await, ClientFrame::Typing(_)));
    drop(peer);
    let (mut peer, _) = gateway.accept_live(&[]).await;
    assert_eq!(peer.frame().await, focus);
}

/// Everything of a room from the next number to that one.
async fn tell(peer: &mut Peer<tokio::net::TcpStream>, after: Option<u64>, last: u64) {
    for seq in after.expect("a cursor of the room") + 1..=last {
        peer.send(&message(seq)).await;
    }
}

#[tokio::test]
async fn answers_come_while_nobody_takes_updates_and_what_was_left_out_comes_again() {
    const ROOM_FOR: u64 = 8;
    const ALL: u64 = 5000;
    let gateway = Gateway::start().await;
    let updates = usize::try_from(ROOM_FOR).unwrap();
    let (session, mut updates) = Session::open(SessionSettings { updates, ..settings(&[&gateway]) });
    let (mut peer, _) = gateway.accept_live(&[(room(), 0)]).await;
    let serving = async {
        // Far more than what user and sockets have room for, and the answer comes behind all of it.
        let nonce = next_send(&mut peer).await.nonce;
        tell(&mut peer, Some(0), ALL).await;
        peer.send(&sent(&nonce, ALL)).await;
    };
    let (answer, ()) =
        timeout(PATIENCE, async { tokio::join!(session.send(RoomId(ROOM), "hello"), serving) })
            .await
            .expect("the answer does not wait for the user");
    assert_eq!(answer.unwrap().seq, ALL);

    // Now somebody reads: what was left out comes again, from where the user stands.
    let reading = async {
        for seq in 1..=ALL {
            assert_eq!(event_of(next_content(&mut updates).await), seq);
        }
    };
    let serving = async {
        let (mut peer, frame) = gateway.accept_live(&[(room(), ALL)]).await;
        let ClientFrame::Resume(resume) = frame else { panic!("{frame:?}") };
        let cursor = resume.cursors.get(&room());
        assert!(cursor.is_some_and(|seq| seq <= 2 * ROOM_FOR), "{cursor:?}: no more than that was kept");
        tell(&mut peer, cursor, ALL).await;
        peer
    };
    let ((), _peer) = tokio::join!(reading, serving);
    assert!(gateway.is_left_alone().await, "who reads is not disturbed again");
    session.stop().await;
}

#[tokio::test]
async fn answers_come_over_losses_while_nobody_takes_updates() {
    let gateway = Gateway::start().await;
    let (session, _updates) = Session::open(SessionSettings { updates: 1, ..settings(&[&gateway]) });
    let (mut peer, _) = gateway.accept_live(&[(room(), 0)]).await;
    tell(&mut peer, Some(0), 10).await;
    drop(peer);
    let serving = async {
        let (mut peer, frame) = gateway.accept_live(&[(room(), 10)]).await;
        assert!(matches!(frame, ClientFrame::Resume(_)), "{frame:?}");
        let nonce = next_send(&mut peer).await.nonce;
        peer.send(&sent(&nonce, 11)).await;
        peer
    };
    let (answer, _peer) =
        timeout(PATIENCE, async { tokio::join!(session.send(RoomId(ROOM), "hello"), serving) })
            .await
            .expect("the answer does not wait for the user");
    assert_eq!(answer.unwrap().seq, 11);
}

#[tokio::test]
async fn a_dead_server_is_noticed_while_an_answer_is_waited_for_and_nobody_takes_updates() {
    let gateway = Gateway::start().await;
    let (session, _updates) = Session::open(SessionSettings { updates: 1, ..settings(&[&gateway]) });
    let mut peer = gateway.accept().await;
    let ServerFrame::Hello(plain) = hello() else { panic!() };
    peer.send(&ServerFrame::Hello(Hello { heartbeat_interval_ms: 50, ..plain })).await;
    peer.any_frame().await;
    peer.send(&ready(&[(room(), 0)])).await;
    peer.send(&ServerFrame::Live).await;
    tell(&mut peer, Some(0), 10).await;
    let serving = async {
        let nonce = next_send(&mut peer).await.nonce;
        // It keeps its connection open, and says nothing any more.
        let (mut second, _) = gateway.accept_live(&[(room(), 10)]).await;
        assert_eq!(next_send(&mut second).await.nonce, nonce);
        second.send(&sent(&nonce, 11)).await;
        second
    };
    let (answer, _second) =
        timeout(PATIENCE, async { tokio::join!(session.send(RoomId(ROOM), "hello"), serving) })
            .await
            .expect("it goes elsewhere");
    assert_eq!(answer.unwrap().seq, 11);
}
