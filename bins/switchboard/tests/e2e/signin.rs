//! Tickets and the limit of sign-ins, over all nodes.

use std::time::{Duration, Instant};

use client::{Credential, Socket, SocketError};
use futures_util::future::join_all;
use protocol::{CloseCode, Encoding, ServerFrame};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;

use crate::world::{PASSWORD, World, in_both_worlds};

in_both_worlds!(
    a_ticket_that_two_hundred_show_at_once_lets_one_in,
    a_hundred_logins_at_once_share_one_bucket,
    a_registration_that_is_repeated_makes_one_person_who_is_in,
);

async fn a_ticket_that_two_hundred_show_at_once_lets_one_in(options: ClusterOptions) {
    let world = World::on(options).await;
    let alex = world.person(1, "alex").await;
    for round in 0..3 {
        let ticket = alex.at(&world, 1 + round % 2).ticket().await.expect("a ticket");
        assert!(ticket.ticket.len() == 32 && ticket.ticket.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let credential = Credential::Ticket(ticket.ticket);
        let tries = (0..200).map(|n| {
            let (url, credential) = (world.cluster.gateway_url(1 + n % 2), &credential);
            async move {
                // The upgrade succeeds: a browser can't read the status of a handshake.
                let mut socket = Socket::connect(&url, credential, Encoding::Json).await.expect("an upgrade");
                let first = socket.receive().await;
                (socket, first)
            }
        });
        let mut let_in = Vec::new();
        for (socket, first) in join_all(tries).await {
            match first {
                Ok(ServerFrame::Hello(_)) => let_in.push(socket),
                Err(end @ SocketError::Closed { .. }) => {
                    assert_eq!(end.close_code(), Some(CloseCode::SignInFailed), "{end}");
                }
                other => panic!("neither hello nor 4004: {other:?}"),
            }
        }
        assert_eq!(let_in.len(), 1);
    }
}

async fn a_hundred_logins_at_once_share_one_bucket(options: ClusterOptions) {
    const RATE: f64 = 0.5;
    const BURST: usize = 8;
    let world = World::on(
        options
            .setting("auth.rate", RATE.to_string())
            .setting("auth.burst", BURST.to_string())
            // The shared bucket alone decides in this test, however busy the machine is.
            .setting("auth.rate_timeout", "20s"),
    )
    .await;
    let began = Instant::now();
    world.person(1, "alex").await;
    let answers = join_all((0..100).map(|n| login(&world, 1 + n % 2, n))).await;
    // The last token was given before this moment.
    let most = BURST as f64 + RATE * began.elapsed().as_secs_f64();

    let mut through = 1;
    let mut retry = Duration::ZERO;
    for answer in answers {
        match answer.status() {
            StatusCode::OK => through += 1,
            StatusCode::TOO_MANY_REQUESTS => {
                let after = answer.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
                assert!((1..=200).contains(&after), "{after}");
                retry = retry.max(Duration::from_secs(after));
                assert_eq!(answer.headers()["content-type"], "application/problem+json");
                assert_eq!(answer.json::<Value>().await.expect("a problem")["code"], "rate_limited");
            }
            other => panic!("{other}"),
        }
    }
    assert!(through >= BURST && through as f64 <= most, "{through} through, of {BURST} to {most}");
    let mut limited = 0.0;
    for node in world.api_nodes() {
        limited += world.metric(node, "switchboard_rate_limited_total").await.expect("it is counted");
        assert_eq!(world.metric(node, "switchboard_rate_limit_fail_open_total").await, Some(0.0));
    }
    assert_eq!(limited as usize, 101 - through);
    // What Retry-After said is true.
    tokio::time::sleep(retry).await;
    assert_eq!(login(&world, 2, 0).await.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_while_the_database_is_silent_each_node_limits_by_itself() {
    const BURST: usize = 8;
    let world = World::with(|options| {
        options
            .database_through_proxies()
            .setting("auth.rate", "0.05")
            .setting("auth.burst", BURST.to_string())
            .setting("auth.rate_timeout", "300ms")
    })
    .await;
    world.person(1, "alex").await;
    for node in ["api-1", "api-2"] {
        world.cluster.database_of(node).stall();
    }
    let answers = join_all((0..60).map(|n| login(&world, 1 + n % 2, n))).await;
    for node in [0, 1] {
        let of_node = || answers.iter().skip(node).step_by(2).map(|answer| answer.status().as_u16());
        let limited = of_node().filter(|status| *status == 429).count();
        // Those that were let through found no database behind the limit either.
        assert!(
            of_node().all(|status| [429, 503, 504].contains(&status)),
            "{:?}",
            of_node().collect::<Vec<_>>()
        );
        assert!((30 - BURST - 2..=30 - BURST).contains(&limited), "{limited} of 30 were limited");
        let name = format!("api-{}", node + 1);
        let locally = world.metric(&name, "switchboard_rate_limit_fail_open_total").await;
        assert_eq!(locally, Some(30.0));
    }
    for node in ["api-1", "api-2"] {
        world.cluster.database_of(node).resume();
    }
    // The shared bucket decides again: one token of eight was taken from it, but for what came through late.
    let answer = login(&world, 1, 0).await;
    let status = answer.status();
    assert_eq!(status, StatusCode::OK, "{}", answer.text().await.unwrap_or_default());
}

async fn a_registration_that_is_repeated_makes_one_person_who_is_in(options: ClusterOptions) {
    let world = World::on(options.setting("auth.lockout_threshold", "3")).await;
    let register = |node: usize, handle: &str, password: &str, key: &str| {
        let url = format!("{}/v1/auth/register", world.cluster.api_url(node));
        let body =
            json!({ "handle": handle, "password": password, "device": { "kind": "web", "name": "a page" } });
        let asked = reqwest::Client::new().post(url).header("idempotency-key", key).json(&body).send();
        async move {
            let answer = asked.await.expect("an answer");
            (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
        }
    };
    // Whose answers were lost, and who asked at once: each is in, and is the same person.
    let answers = join_all((0..10).map(|n| register(1 + n % 2, "alex", PASSWORD, "k1"))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 200, 201], "{answers:?}");
    let alex = &answers[0].1["user"];
    for (_, answer) in &answers {
        assert_eq!(&answer["user"], alex);
        let token = answer["access_token"].as_str().expect("a token");
        let me = world.api(2).with_token(token).me().await.expect("signed in");
        assert_eq!(alex["id"], me.id.to_string());
        assert!(answer["device_id"].is_string(), "{answer}");
    }
    assert_eq!(world.sql("SELECT id FROM users").await.len(), 1);
    let (status, later) = register(2, "alex", PASSWORD, "k1").await;
    assert_eq!((status, &later["user"]), (200, alex));

    // The key alone proves nothing, and another key is another call.
    let (status, other) = register(1, "alex", PASSWORD, "k2").await;
    assert_eq!((status, &other["code"]), (409, &"handle_taken".into()));
    let (status, sam) = register(1, "sam", PASSWORD, "k1").await;
    assert_eq!(status, 201, "whoever else uses the key: {sam}");
    for _ in 0..3 {
        let (status, refused) = register(2, "alex", "wrong horse battery", "k1").await;
        assert_eq!((status, &refused["code"]), (409, &"nonce_reused".into()));
    }
    // Guessing here is guessing at the login.
    for (status, refused) in
        [register(1, "alex", PASSWORD, "k1").await, register(1, "sam", PASSWORD, "k1").await]
    {
        match refused["user"]["handle"].as_str() {
            Some(handle) => assert_eq!((status, handle), (200, "sam")),
            None => assert_eq!((status, &refused["code"]), (423, &"locked".into())),
        }
    }
    let (status, refused) = register(1, "robin", PASSWORD, &"k".repeat(65)).await;
    assert_eq!((status, &refused["field"]), (400, &"Idempotency-Key".into()));
}

/// A login as Alex from this address, whatever address it claims to come from.
async fn login(world: &World, node: usize, number: usize) -> Response {
    let url = format!("{}/v1/auth/login", world.cluster.api_url(node));
    reqwest::Client::new()
        .post(url)
        .header("x-forwarded-for", format!("10.0.0.{number}"))
        .json(&json!({ "handle": "alex", "password": PASSWORD }))
        .send()
        .await
        .expect("an answer")
}
