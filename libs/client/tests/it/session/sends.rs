//! Messages, until they are acknowledged.

use std::time::Duration;

use client::session::SendError;
use client::{Session, SessionSettings};
use domain::RoomId;
use protocol::frame::{ErrorFrame, Focus, Read, Send};
use protocol::{ClientFrame, ServerFrame};

use super::{open, settings};
use crate::fake::{Gateway, Peer, ROOM, sent};

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
