//! Losses, drains and ends.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use client::session::StopReason;
use client::{Api, Session, SessionSettings, SignIn, State, Update};
use protocol::frame::{Drain, Hello};
use protocol::{ClientFrame, CloseCode, ServerFrame};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::{event_of, next, next_content, open, settings, until};
use crate::fake::{Gateway, LOG, SESSION, hello, message, own, ready, room};

#[tokio::test]
async fn identifies_then_resumes_elsewhere_with_its_cursors() {
    let (first, second) = (Gateway::start().await, Gateway::start().await);
    let (session, mut updates) = open(&[&first, &second]);
    let streams = [(room(), 5), (own(), 2)];
    let (mut peer, frame) = first.accept_live(&streams).await;
    let ClientFrame::Identify(identify) = frame else { panic!("{frame:?}") };
    assert!(identify.cursors.is_empty() && identify.log_epoch.is_none());
    peer.send(&message(6)).await;
    for expected in ["Connecting", "Replaying", "Ready", "Live", "Event"] {
        let update = format!("{:?}", next(&mut updates).await);
        let update = update.trim_start_matches("State(");
        assert!(update.starts_with(expected), "{expected}: {update}");
    }
    drop(peer);

    let (mut peer, frame) = second.accept_live(&[(room(), 8), (own(), 2)]).await;
    let ClientFrame::Resume(resume) = frame else { panic!("{frame:?}") };
    assert_eq!((resume.session_id, resume.log_epoch), (SESSION, Some(LOG)));
    assert_eq!((resume.cursors.get(&room()), resume.cursors.get(&own())), (Some(6), Some(2)));
    for seq in [7, 8] {
        peer.send(&message(seq)).await;
        assert_eq!(event_of(next_content(&mut updates).await), seq);
    }
    session.live().await.unwrap();
}

#[tokio::test]
async fn terminal_closes_end_it() {
    for code in [
        CloseCode::SignInFailed,
        CloseCode::SignInEnded,
        CloseCode::ConsumerTakenOver,
        CloseCode::DeviceReplaced,
    ] {
        let gateway = Gateway::start().await;
        let (session, mut updates) = open(&[&gateway]);
        let (peer, _) = gateway.accept_live(&[]).await;
        peer.close(code.code(), code.reason()).await;
        let why = StopReason::Closed { code, reason: code.reason().to_owned() };
        let stopped = State::Stopped { why: why.clone() };
        assert_eq!(until(&mut updates, |state| matches!(state, State::Stopped { .. })).await, stopped);
        assert_eq!(updates.next().await, None);
        assert_eq!(session.live().await, Err(why));
        assert!(gateway.is_left_alone().await, "{code:?}");
    }
}

#[tokio::test]
async fn other_closes_are_resumed_and_4012_identifies_again() {
    let gateway = Gateway::start().await;
    let (_session, _updates) = open(&[&gateway]);
    let (peer, _) = gateway.accept_live(&[(room(), 5)]).await;
    peer.close(4010, "behind for too long").await;
    let (peer, frame) = gateway.accept_live(&[(room(), 5)]).await;
    assert!(matches!(frame, ClientFrame::Resume(_)), "{frame:?}");
    drop(peer);
    let mut peer = gateway.accept().await;
    peer.send(&hello()).await;
    assert!(matches!(peer.frame().await, ClientFrame::Resume(_)));
    peer.close(4012, "identify again").await;
    let (_peer, frame) = gateway.accept_live(&[(room(), 5)]).await;
    let ClientFrame::Identify(identify) = frame else { panic!("{frame:?}") };
    assert_eq!((identify.cursors.get(&room()), identify.log_epoch), (Some(5), Some(LOG)));
}

#[tokio::test]
async fn leaves_a_draining_node_when_it_said() {
    let (first, second) = (Gateway::start().await, Gateway::start().await);
    let (_session, mut updates) = open(&[&first, &second]);
    let (mut peer, _) = first.accept_live(&[(room(), 0)]).await;
    let told = Instant::now();
    peer.send(&ServerFrame::Drain(Drain { after_ms: 300 })).await;
    peer.send(&message(1)).await;
    assert_eq!(event_of(next_content(&mut updates).await), 1, "it delivers until then");
    assert_eq!(peer.closed().await, 1001);
    let (_peer, frame) = second.accept_live(&[(room(), 1)]).await;
    assert!(told.elapsed() >= Duration::from_millis(300), "{:?}", told.elapsed());
    assert!(matches!(frame, ClientFrame::Resume(_)), "{frame:?}");
}

#[tokio::test]
async fn a_node_that_goes_early_is_left_as_late_as_it_said() {
    let (first, second) = (Gateway::start().await, Gateway::start().await);
    let (session, mut updates) = open(&[&first, &second]);
    let (mut peer, _) = first.accept_live(&[]).await;
    let told = Instant::now();
    peer.send(&ServerFrame::Drain(Drain { after_ms: 300 })).await;
    peer.close(1012, "node drains").await;
    let waiting = until(&mut updates, |state| matches!(state, State::Waiting { .. })).await;
    let State::Waiting { why, .. } = waiting else { panic!("{waiting:?}") };
    assert_eq!(why, "the node drains");
    let _peer = second.accept_live(&[]).await;
    assert!(told.elapsed() >= Duration::from_millis(300), "{:?}", told.elapsed());
    session.live().await.unwrap();
}

#[tokio::test]
async fn a_node_that_drains_before_live_is_left_when_it_said_too() {
    let (first, second) = (Gateway::start().await, Gateway::start().await);
    let (session, _updates) = open(&[&first, &second]);
    let mut peer = first.accept().await;
    let ServerFrame::Hello(plain) = hello() else { panic!() };
    peer.send(&ServerFrame::Hello(Hello { reconnect_jitter_ms: 3_600_000, ..plain })).await;
    peer.send(&ServerFrame::Drain(Drain { after_ms: 0 })).await;
    // An hour later, if it counted as a failure.
    let _peer = second.accept_live(&[]).await;
    session.live().await.unwrap();
}

#[tokio::test]
async fn a_node_that_drains_whoever_comes_is_not_stormed() {
    let gateway = Gateway::start().await;
    let (_session, mut updates) = open(&[&gateway]);
    let mut bounds = Vec::new();
    for _ in 0..4 {
        let mut peer = gateway.accept().await;
        peer.send(&hello()).await;
        peer.send(&ServerFrame::Drain(Drain { after_ms: 0 })).await;
        let waiting = until(&mut updates, |state| matches!(state, State::Waiting { .. })).await;
        let State::Waiting { until, .. } = waiting else { panic!("{waiting:?}") };
        bounds.push(until.saturating_duration_since(Instant::now()));
    }
    assert!(bounds.iter().any(|wait| !wait.is_zero()), "{bounds:?}");
}

#[tokio::test]
async fn a_silent_server_is_left_and_a_talking_one_is_not() {
    let gateway = Gateway::start().await;
    let (_session, mut updates) = open(&[&gateway]);
    let mut peer = gateway.accept().await;
    let ServerFrame::Hello(plain) = hello() else { panic!() };
    peer.send(&ServerFrame::Hello(Hello { heartbeat_interval_ms: 50, ..plain })).await;
    peer.any_frame().await;
    peer.send(&ready(&[])).await;
    peer.send(&ServerFrame::Live).await;
    for _ in 0..6 {
        assert_eq!(peer.any_frame().await, ClientFrame::Ping);
        peer.send(&ServerFrame::Pong).await;
    }
    until(&mut updates, |state| *state == State::Live).await;
    // And now silence.
    let State::Waiting { why, .. } =
        until(&mut updates, |state| matches!(state, State::Waiting { .. })).await
    else {
        panic!("waiting")
    };
    assert_eq!(why, "heartbeat missed");
}

#[tokio::test]
async fn a_server_that_never_says_hello_or_ready_is_left() {
    let gateway = Gateway::start().await;
    let (_session, mut updates) =
        Session::open(SessionSettings { deadline: Duration::from_millis(100), ..settings(&[&gateway]) });
    for (has_hello, expected) in [(false, "no hello in time"), (true, "no ready in time")] {
        let mut peer = gateway.accept().await;
        if has_hello {
            peer.send(&hello()).await;
        }
        let State::Waiting { why, .. } =
            until(&mut updates, |state| matches!(state, State::Waiting { .. })).await
        else {
            panic!("waiting")
        };
        assert_eq!(why, expected);
    }
}

#[tokio::test]
async fn waits_longer_and_longer_where_nobody_is() {
    let gateway = Gateway::start().await;
    let unreachable = settings(&[&gateway]);
    drop(gateway);
    let (session, mut updates) = Session::open(unreachable);
    for _ in 0..3 {
        let waiting = until(&mut updates, |state| matches!(state, State::Waiting { .. })).await;
        let State::Waiting { why, until } = waiting else { panic!("{waiting:?}") };
        assert!(why.starts_with("unreachable"), "{why}");
        assert!(until <= Instant::now() + Duration::from_millis(200));
    }
    session.stop().await;
    assert_eq!(session.live().await, Err(StopReason::Asked));
}

#[tokio::test]
async fn stopping_closes_and_tells() {
    let gateway = Gateway::start().await;
    let (session, mut updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[]).await;
    until(&mut updates, |state| *state == State::Live).await;
    let ((), code) = tokio::join!(session.stop(), peer.closed());
    assert_eq!(code, 1000);
    assert_eq!(next(&mut updates).await, Update::State(State::Stopped { why: StopReason::Asked }));
    assert_eq!(updates.next().await, None);

    // Dropping it does the same.
    let (session, _updates) = open(&[&gateway]);
    let (mut peer, _) = gateway.accept_live(&[]).await;
    drop(session);
    assert_eq!(peer.closed().await, 1000);
}

async fn serve(router: Router) -> Api {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Api::new(&base).unwrap()
}

#[tokio::test]
async fn each_connection_has_a_ticket_from_a_node_that_answers() {
    let tickets = || async { r#"{"ticket":"abc","expires_at":"2026-11-30T12:00:00Z"}"# };
    let good = serve(Router::new().route("/v1/ws/ticket", post(tickets))).await;
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Api::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap()
    };
    let gateway = Gateway::start().await;
    let (session, _updates) = Session::open(SessionSettings {
        sign_in: SignIn::Tickets(vec![gone, good]),
        ..settings(&[&gateway])
    });
    for _ in 0..2 {
        let (peer, _) = gateway.accept_live(&[]).await;
        assert!(peer.request.starts_with("GET /v1/gateway?ticket=abc "), "{}", peer.request);
        session.live().await.unwrap();
    }
}

#[tokio::test]
async fn without_a_ticket_to_be_had_it_stops() {
    let refuse = || async {
        (StatusCode::UNAUTHORIZED, r#"{"code":"session_revoked","detail":"the sign-in was ended"}"#)
    };
    let api = serve(Router::new().route("/v1/ws/ticket", post(refuse))).await;
    let gateway = Gateway::start().await;
    let (session, _updates) =
        Session::open(SessionSettings { sign_in: SignIn::Tickets(vec![api]), ..settings(&[&gateway]) });
    let Err(StopReason::SignIn(why)) = session.live().await else { panic!("stopped") };
    assert!(why.contains("session_revoked"), "{why}");
    assert!(gateway.is_left_alone().await);
}
