//! The end of a sign-in, on every node at once.

use std::time::{Duration, Instant};

use client::api::NewMessage;
use client::{Api, ApiError, Credential};
use domain::DeviceKind;
use protocol::{CloseCode, Encoding};
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;

use crate::sse::Sse;
use crate::wire::{Wire, identify};
use crate::world::{PASSWORD, PATIENCE, Person, World, in_both_worlds};

in_both_worlds!(
    a_disabled_person_is_out_everywhere_at_once,
    a_logout_ends_what_that_sign_in_had_and_nothing_else,
    a_refresh_token_that_two_hold_ends_the_sign_in_everywhere,
);

const ENDED: u16 = 4014;
/// What people call at once.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Nothing is found by looking now and then: what one node does reaches the others because they are told.
async fn world(options: ClusterOptions) -> World {
    World::on(options.setting("relay.sweep_interval", "1h").setting("auth.revocation_interval", "1h")).await
}

async fn a_disabled_person_is_out_everywhere_at_once(options: ClusterOptions) {
    let world = world(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    world.sql("UPDATE users SET role = 'admin' WHERE handle = 'alex'").await;
    let admin = alex.at(&world, 2);
    let mut alexs = world.connect(&alex, 1).await;
    let mut wires = [
        world.connect(&sam, 1).await,
        world.connect_device(&sam, sam.new_device(DeviceKind::Mobile).await, 2).await,
    ];
    let mut streams =
        [Sse::open(&sam.at(&world, 1), None, None).await, Sse::open(&sam.api, None, None).await];
    let mut waiting = world.hello(&sam, 2, Encoding::Json).await;
    let ticket = sam.ticket().await;
    let fresh = || [sam.at(&world, 1), sam.at(&world, 2)];

    let began = Instant::now();
    assert_eq!(disable(&admin, &sam, "disable").await, StatusCode::NO_CONTENT);
    for wire in &mut wires {
        assert_eq!(wire.closed().await, ENDED);
    }
    for stream in &mut streams {
        assert_eq!(stream.closed().await, u64::from(ENDED));
    }
    for api in fresh() {
        until_refused(&api, began).await;
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // Neither who was about to identify nor a ticket from before gets in.
    waiting.say(&identify(sam.device)).await;
    assert_eq!(waiting.closed().await, ENDED);
    for gateway in [1, 2] {
        let url = world.cluster.gateway_url(gateway);
        let refused = Wire::open(&url, &ticket, Encoding::Json).await.err().expect("no way in");
        assert_eq!(refused.close_code(), Some(CloseCode::SignInFailed), "{refused}");
        let token = Credential::Bearer(sam.api.access_token().expect("a token"));
        let refused = Wire::open(&url, &token, Encoding::Json).await.err().expect("no way in");
        assert!(matches!(refused.close_code(), Some(CloseCode::SignInFailed)), "{refused}");
    }
    for api in fresh() {
        assert!(api.ticket().await.is_err());
        assert_eq!(api.refresh().await.expect_err("refused").status(), Some(401));
        let refused = api.signed_out().login("sam", PASSWORD, None).await.expect_err("refused");
        assert_eq!((refused.status(), refused.code()), (Some(403), "disabled"));
    }
    // The others go on.
    let said = alex.says(room, "Where is Sam?").await;
    assert_eq!(alexs.event_of("message.created").await.seq, said);
    let beginner = world.person(1, "robin").await;
    assert_eq!(disable(&beginner.api, &alex, "disable").await, StatusCode::FORBIDDEN);

    assert_eq!(disable(&admin, &sam, "enable").await, StatusCode::NO_CONTENT);
    let back = world.api(1);
    back.login("sam", PASSWORD, None).await.expect("signed in");
    back.send_message(room, &NewMessage::new("Here")).await.expect("sent");
    // What was ended stays so.
    assert!(sam.at(&world, 1).me().await.is_err());
}

async fn a_logout_ends_what_that_sign_in_had_and_nothing_else(options: ClusterOptions) {
    let world = world(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    // Sam again, from another device.
    let phone = Person { api: world.api(1), ..sam.clone() };
    let device = client::api::NewDevice { kind: DeviceKind::Mobile, name: "phone".into() };
    let device = phone.api.login("sam", PASSWORD, Some(&device)).await.expect("signed in").device_id;
    let mut ending = [
        world.connect(&sam, 1).await,
        world.connect_device(&sam, sam.new_device(DeviceKind::Web).await, 2).await,
    ];
    let mut stream = Sse::open(&sam.at(&world, 1), None, None).await;
    let mut staying = world.connect_device(&phone, device.expect("a device"), 1).await;
    let mut waiting = world.hello(&sam, 1, Encoding::Json).await;
    let tokens = sam.api.with_token(sam.api.access_token().expect("a token"));

    let began = Instant::now();
    sam.at(&world, 2).logout().await.expect("signed out");
    for wire in &mut ending {
        assert_eq!(wire.closed().await, ENDED);
    }
    assert_eq!(stream.closed().await, u64::from(ENDED));
    for node in [1, 2] {
        until_refused(&tokens.at(&world.cluster.api_url(node)).expect("an address"), began).await;
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    waiting.say(&identify(sam.device)).await;
    assert_eq!(waiting.closed().await, ENDED);

    let said = alex.says(room, "Soup?").await;
    staying.event_of("session.revoked").await;
    assert_eq!(staying.event_of("message.created").await.seq, said);
    phone.at(&world, 2).send_message(room, &NewMessage::new("Yes")).await.expect("sent");
}

async fn a_refresh_token_that_two_hold_ends_the_sign_in_everywhere(options: ClusterOptions) {
    let world = world(options).await;
    let sam = world.person(1, "sam").await;
    for round in 0..5 {
        let signed_in = world.api(1 + round % 2).login("sam", PASSWORD, None).await.expect("signed in");
        let tokens = sam.api.with_token(signed_in.access_token);
        let thief = Person { api: tokens.clone(), ..sam.clone() };
        let mut wire = world.connect_device(&thief, sam.new_device(DeviceKind::Web).await, 2).await;
        let refresh = |node: usize| {
            let url = format!("{}/v1/auth/refresh", world.cluster.api_url(node));
            let body = json!({ "refresh_token": signed_in.refresh_token });
            async move {
                let answer = reqwest::Client::new().post(url).json(&body).send().await.expect("an answer");
                (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
            }
        };
        let (one, other) = tokio::join!(refresh(1), refresh(2));
        let answers = [one, other];
        let good: Vec<&Value> =
            answers.iter().filter(|(status, _)| *status == 200).map(|(_, answer)| answer).collect();
        assert_eq!(good.len(), 1, "{answers:?}");
        let refused = answers.iter().find(|(status, _)| *status != 200).expect("one is refused");
        assert_eq!((refused.0, &refused.1["code"]), (401, &json!("refresh_reused")));
        // Nobody knows which of the two is Sam.
        assert_eq!(wire.closed().await, ENDED);
        for token in [tokens.access_token(), good[0]["access_token"].as_str().map(str::to_owned)] {
            for node in [1, 2] {
                let api = sam.at(&world, node).with_token(token.clone().expect("a token"));
                until_refused(&api, Instant::now()).await;
            }
        }
        sam.api.me().await.expect("the other sign-in goes on");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_what_ended_while_nodes_heard_nothing_ends_once_they_hear_again() {
    let world = World::with(|options| {
        options
            .database_through_proxies()
            .setting("relay.sweep_interval", "1h")
            .setting("auth.revocation_interval", "1h")
            .setting("listener.check_interval", "500ms")
            .setting("listener.check_timeout", "500ms")
    })
    .await;
    let sam = world.person(1, "sam").await;
    let (removed, web) = (sam.new_device(DeviceKind::Mobile).await, sam.new_device(DeviceKind::Web).await);
    let token = sam.at(&world, 2).with_token(sam.api.access_token().expect("a token"));
    token.me().await.expect("oneself");
    let keeper = world.api(1);
    keeper.login("sam", PASSWORD, None).await.expect("signed in");
    let keeper = Person { api: keeper, ..sam.clone() };
    let mut of_removed = world.connect_device(&keeper, removed, 2).await;
    let mut of_replaced = world.connect_device(&keeper, web, 2).await;
    let mut of_sign_in = world.connect(&sam, 2).await;
    let mut stream = Sse::open(&sam.at(&world, 2), None, None).await;
    stream.until_live().await;

    // Every connection of theirs to the database goes silent, and nobody tells them.
    for node in ["api-2", "gateway-2"] {
        world.cluster.database_of(node).strand();
    }
    keeper.api.remove_device(removed).await.expect("removed");
    let mut replacing = world.connect_device(&keeper, web, 1).await;
    sam.api.logout().await.expect("signed out");
    assert_eq!(of_removed.closed().await, 4017);
    assert_eq!(of_replaced.closed().await, 4017);
    assert_eq!(of_sign_in.closed().await, ENDED);
    assert_eq!(stream.closed().await, u64::from(ENDED));
    let refused = async {
        while token.me().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.expect("refused once the node hears again");
    replacing.ping().await;
}

async fn disable(admin: &Api, whom: &Person, what: &str) -> StatusCode {
    let url = format!("{}v1/admin/users/{}/{what}", admin.base(), whom.id);
    let token = admin.access_token().expect("a token");
    reqwest::Client::new().post(url).bearer_auth(token).send().await.expect("an answer").status()
}

/// Asks until the token is refused, which must be soon.
async fn until_refused(api: &Api, since: Instant) {
    loop {
        match api.me().await {
            Err(ApiError::Refused { status: 401, problem, .. }) => {
                return assert_eq!(problem.code, "session_revoked");
            }
            Ok(_) if since.elapsed() < AT_ONCE => tokio::time::sleep(Duration::from_millis(5)).await,
            other => panic!("still not refused: {other:?}"),
        }
    }
}
