//! Access tokens that end while a connection lives.

use std::time::{Duration, Instant};

use client::{Session, SessionSettings, SignIn, State, Update};
use protocol::frame::{Refresh, Refreshed, Slot};
use protocol::{ClientFrame, CloseCode, Encoding, ServerFrame};
use testkit::postgres::OwnServer;
use tokio::time::timeout;

use crate::sse::Sse;
use crate::wire::{Wire, body};
use crate::world::{PATIENCE, Person, World};

/// How long access tokens are good here.
const TTL: Duration = Duration::from_secs(2);

async fn world(grace: &str) -> World {
    World::with(|options| options.setting("auth.access_ttl", "2s").setting("auth.refresh_grace", grace)).await
}

/// Somebody whose token is fresh.
async fn renewed(person: &Person) -> String {
    person.api.refresh().await.expect("the next pair").access_token
}

async fn present(wire: &Wire, access_token: String) {
    wire.say(&ClientFrame::Refresh(Refresh { access_token })).await;
}

async fn asked(wire: &mut Wire) -> Duration {
    wire.find(|frame| match frame {
        ServerFrame::Refresh(asked) => Some(Duration::from_millis(asked.within_ms)),
        _ => None,
    })
    .await
}

async fn refreshed(wire: &mut Wire) -> Refreshed {
    wire.find(|frame| match frame {
        ServerFrame::Refreshed(refreshed) => Some(refreshed.clone()),
        ServerFrame::Error(error) => panic!("{error:?}"),
        _ => None,
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_connection_whose_token_ended_is_asked_and_then_closed() {
    let world = world("1s").await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    renewed(&sam).await;
    let began = Instant::now();
    // By ticket, which a token stands behind, and by the token itself: both kinds end with the token.
    let mut by_ticket = world.connect(&sam, 1).await;
    let device = sam.new_device(domain::DeviceKind::Mobile).await;
    let bearer = client::Credential::Bearer(sam.api.access_token().expect("signed in"));
    let mut by_token =
        Wire::open(&world.cluster.gateway_url(2), &bearer, Encoding::Proto).await.expect("let in");
    by_token.identify(device).await;
    by_token.until_live().await;
    for wire in [&mut by_ticket, &mut by_token] {
        let within = asked(wire).await;
        assert!(within <= Duration::from_secs(1), "{within:?}");
        // A token's time is whole seconds.
        assert!(began.elapsed() + Duration::from_secs(1) > TTL, "{:?}", began.elapsed());
    }
    alex.says(room, "still there").await;
    assert_eq!(body(&by_ticket.next_in(room, "message.created").await), "still there");
    assert_eq!(by_ticket.closed().await, CloseCode::SignInEnded.code());
    assert_eq!(by_token.closed().await, CloseCode::SignInEnded.code());
    // The sign-in lives on.
    renewed(&sam).await;
    world.connect(&sam, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_newer_token_keeps_a_connection_and_no_other_does() {
    let world = world("20s").await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let old = renewed(&sam).await;
    let mut wire = world.connect(&sam, 1).await;
    asked(&mut wire).await;

    let again = sam.api.signed_out();
    again.login("sam", crate::world::PASSWORD, None).await.expect("in again");
    let others = [
        ("unauthenticated", "eyJ0.eyJ1.c2ln".to_owned()),
        ("unauthenticated", String::new()),
        ("forbidden", renewed(&alex).await),
        ("forbidden", again.access_token().expect("another sign-in of the same person")),
    ];
    for (code, token) in others {
        present(&wire, token).await;
        assert_eq!(wire.error().await, code);
    }
    // With its leeway it is past its time: then it helps nobody.
    tokio::time::sleep(TTL + Duration::from_secs(6)).await;
    present(&wire, old).await;
    assert_eq!(wire.error().await, "token_expired");

    // In time, asked or not; from another node, as refresh tokens are good everywhere.
    for _ in 0..2 {
        let token = sam.at(&world, 2).refresh().await.expect("the next pair").access_token;
        present(&wire, token).await;
        let left = refreshed(&mut wire).await.expires_in_ms;
        assert!((1..=2_000).contains(&left), "{left}");
    }
    asked(&mut wire).await;
    alex.says(room, "on and on").await;
    assert_eq!(body(&wire.next_in(room, "message.created").await), "on and on");

    // A sign-in that ended gets nobody on.
    let last = renewed(&sam).await;
    sam.api.logout().await.expect("out");
    present(&wire, last).await;
    assert_eq!(wire.closed().await, CloseCode::SignInEnded.code());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_the_clients_session_and_an_agents_connection_live_on() {
    let world = world("5s").await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let robot = alex.robot("robot").await;
    let mut consumer = robot.consumer(&world, 1, "one").await;
    let tickets = SignIn::Tickets(vec![sam.at(&world, 1), sam.at(&world, 2)]);
    let gateways = vec![world.cluster.gateway_url(1)];
    let (session, mut updates) =
        Session::open(SessionSettings::new(gateways, tickets, Slot::Device(sam.device.0)));
    session.live().await.expect("live");
    // Longer than three tokens and a grace.
    let mut said = Vec::new();
    let began = Instant::now();
    while began.elapsed() < 3 * TTL + Duration::from_secs(6) {
        said.push(alex.says(room, "tick").await);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let (mut seen, mut connections) = (Vec::new(), 0);
    while seen.last() != said.last() {
        match timeout(PATIENCE, updates.next()).await.expect("in time").expect("the session goes on") {
            Update::Event(event) if event.kind == "message.created" => seen.push(event.seq),
            Update::State(State::Live) => connections += 1,
            Update::State(State::Stopped { why }) => panic!("{why}"),
            _ => {}
        }
    }
    assert_eq!((seen, connections), (said, 1), "nothing is missing, and there was one connection");
    // Its token has no end.
    assert!(consumer.ping().await.iter().all(|frame| !matches!(frame, ServerFrame::Refresh(_))));
    session.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_nobody_is_ended_for_want_of_a_token_while_the_database_is_away() {
    let mut server = OwnServer::fast().await;
    let url = server.database("tokens").await.expect("a database");
    let world = World::at(url, |options| {
        options.setting("auth.access_ttl", "2s").setting("auth.refresh_grace", "1s")
    })
    .await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wire = world.connect(&sam, 1).await;
    server.stop().await.expect("stopped");
    // In vain, again and again.
    for _ in 0..4 {
        asked(&mut wire).await;
        assert!(sam.api.refresh().await.is_err());
    }
    server.start_again().await.expect("back");
    let renewed = async {
        loop {
            match sam.api.refresh().await {
                Ok(pair) => break pair.access_token,
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    present(&wire, timeout(PATIENCE, renewed).await.expect("in time")).await;
    refreshed(&mut wire).await;
    let said = async {
        while alex.api.refresh().await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        alex.says(room, "back").await
    };
    timeout(PATIENCE, said).await.expect("in time");
    assert_eq!(body(&wire.next_in(room, "message.created").await), "back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_an_event_stream_ends_with_its_token_and_goes_on_with_the_next() {
    let world = world("1s").await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    renewed(&sam).await;
    let mut stream = Sse::open(&sam.at(&world, 1), Some(sam.device), None).await;
    stream.until_live().await;
    let first = alex.says(room, "one").await;
    while stream.event().await["seq"] != first {}
    let asked = loop {
        let message = stream.next().await.expect("it is asked before it is closed");
        if message.op() == "refresh" {
            break message.data;
        }
    };
    assert!(asked["within_ms"].as_u64().is_some_and(|within| within <= 1_000), "{asked}");
    assert_eq!(stream.closed().await, u64::from(CloseCode::SignInEnded.code()));
    let second = alex.says(room, "two").await;
    renewed(&sam).await;
    let mut stream = Sse::open(&sam.at(&world, 2), Some(sam.device), stream.last_id.as_deref()).await;
    let replayed = stream.until_live().await;
    let seqs: Vec<_> = replayed.iter().filter(|message| message.op() == "event").collect();
    assert!(seqs.iter().any(|message| message.data["seq"] == second), "{seqs:?}");
}
