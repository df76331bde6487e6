//! `/v1/auth`.

use serde_json::{Value, json};

use crate::app::{PASSWORD, Person, TestApp};

fn login(handle: &str, password: &str) -> Value {
    json!({ "handle": handle, "password": password })
}

#[tokio::test]
async fn who_registers_is_signed_in() {
    let app = TestApp::start().await;
    let body = json!({
        "handle": "alex", "password": PASSWORD, "display_name": "Alex", "device": { "kind": "web", "name": "Browser" }
    });
    let answer = app.post("/v1/auth/register").json(&body).expect(201).await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert_eq!(answer.body["user"]["handle"], "alex");
    assert_eq!((&answer.body["user"]["role"], &answer.body["expires_in"]), (&"user".into(), &900.into()));
    let alex = Person::of(&answer);
    let me = app.get("/v1/users/me").by(&alex).expect(200).await;
    assert_eq!(me.body, answer.body["user"]);
    let devices = app.get("/v1/devices").by(&alex).expect(200).await;
    assert_eq!(devices.each("id"), [answer.body["device_id"].clone()]);
    let again = app.post("/v1/auth/register").json(&body).refused(409, "handle_taken").await;
    assert!(!again.body.to_string().contains(PASSWORD));
    app.stop().await;
}

#[tokio::test]
async fn a_field_that_is_not_allowed_is_named() {
    let app = TestApp::start().await;
    let good = json!({ "handle": "alex", "password": PASSWORD });
    for (field, value) in [
        ("handle", json!("A")),
        ("handle", json!(null)),
        ("password", json!("short")),
        ("password", json!("x".repeat(257))),
        ("display_name", json!(" ")),
        ("device.kind", json!({ "kind": "fridge", "name": "x" })),
        ("device.name", json!({ "kind": "web", "name": "" })),
        ("device.name", json!({ "kind": "web" })),
        ("role", json!("admin")),
    ] {
        let mut body = good.clone();
        body[field.split('.').next().unwrap()] = value.clone();
        let answer = app.post("/v1/auth/register").json(&body).refused(400, "invalid_field").await;
        assert_eq!(answer.body["field"], field, "{value}: {answer:?}");
        assert_eq!(answer.body["errors"][0]["field"], field);
        assert!(field == "handle" || !answer.body.to_string().contains("xxxxx"), "{answer:?}");
    }
    app.post("/v1/auth/register").json(&good).expect(201).await;
    app.stop().await;
}

#[tokio::test]
async fn registration_can_be_closed() {
    let app = TestApp::with(|settings| settings.auth.registration = auth::RegistrationMode::Closed).await;
    let body = json!({ "handle": "alex", "password": PASSWORD });
    app.post("/v1/auth/register").json(&body).refused(403, "registration_closed").await;
    app.stop().await;
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_handle_are_answered_alike() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let mut details = Vec::new();
    for (handle, password) in [
        (alex.handle.as_str(), "wrong horse battery"),
        ("nobody", PASSWORD),
        ("Not A Handle", PASSWORD),
        (&alex.handle, ""),
    ] {
        let refused =
            app.post("/v1/auth/login").json(&login(handle, password)).refused(401, "bad_credentials").await;
        details.push(refused.text("detail"));
    }
    details.dedup();
    assert_eq!(details.len(), 1, "{details:?}");
    app.post("/v1/auth/login").json(&login(&alex.handle, PASSWORD)).expect(200).await;
    app.stop().await;
}

#[tokio::test]
async fn too_many_failures_lock_also_for_the_right_password() {
    let app = TestApp::with(|settings| {
        settings.auth.lockout_threshold = 3;
        settings.auth.lockout_duration = std::time::Duration::from_secs(600);
    })
    .await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    // A success in between forgets the failures before it.
    for password in ["wrong 1 wrong", "wrong 2 wrong", PASSWORD, "wrong 3 wrong", "wrong 4 wrong"] {
        let answer = app.post("/v1/auth/login").json(&login(&alex.handle, password)).send().await;
        assert_eq!(answer.status, if password == PASSWORD { 200 } else { 401 }, "{password}");
    }
    app.post("/v1/auth/login")
        .json(&login(&alex.handle, "wrong 5 wrong"))
        .refused(401, "bad_credentials")
        .await;
    let locked = app.post("/v1/auth/login").json(&login(&alex.handle, PASSWORD)).refused(423, "locked").await;
    let after: u64 = locked.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=600).contains(&after), "{after}");
    // Who is in stays in, and others are not touched.
    app.get("/v1/users/me").by(&alex).expect(200).await;
    app.post("/v1/auth/login").json(&login(&sam.handle, PASSWORD)).expect(200).await;
    app.stop().await;
}

#[tokio::test]
async fn guesses_that_run_side_by_side_do_not_slip_by_the_lock() {
    let app = TestApp::with(|settings| settings.auth.lockout_threshold = 5).await;
    let alex = app.person("alex").await;
    let guess = |at: usize| {
        let body = login(&alex.handle, &format!("wrong horse {at}"));
        app.post("/v1/auth/login").json(&body).send()
    };
    let answers = futures_util::future::join_all((0..40).map(guess)).await;
    assert!(answers.iter().all(|answer| answer.status == 401 || answer.status == 423), "{answers:?}");
    app.post("/v1/auth/login").json(&login(&alex.handle, PASSWORD)).refused(423, "locked").await;
    app.stop().await;
}

#[tokio::test]
async fn refresh_tokens_rotate_and_a_reused_one_ends_its_family() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let other =
        Person::of(&app.post("/v1/auth/login").json(&login(&alex.handle, PASSWORD)).expect(200).await);
    let refresh = |token: &str| app.post("/v1/auth/refresh").json(&json!({ "refresh_token": token }));

    let next = refresh(&alex.refresh).expect(200).await;
    let next = Person::of(&next);
    assert_eq!((&next.id, &next.session), (&alex.id, &alex.session));
    assert_ne!(next.refresh, alex.refresh);
    app.get("/v1/users/me").by(&next).expect(200).await;

    refresh(&alex.refresh).refused(401, "refresh_reused").await;
    // The whole family is gone, whoever held which part of it.
    refresh(&next.refresh).refused(401, "unauthenticated").await;
    app.get("/v1/users/me").by(&next).refused(401, "session_revoked").await;
    app.get("/v1/users/me").by(&alex).refused(401, "session_revoked").await;
    // Another sign-in of the same person is not.
    app.get("/v1/users/me").by(&other).expect(200).await;
    let id: domain::UserId = alex.id.parse().unwrap();
    let events = app.store.page(id.into(), id.into(), store::log::Range::After(0), 10);
    let events = events.await.unwrap().unwrap().events;
    assert!(events.iter().any(|event| event.kind == domain::EventKind::SessionRevoked), "{events:?}");
    app.stop().await;
}

#[tokio::test]
async fn of_many_refreshes_with_one_token_at_most_one_succeeds() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let body = json!({ "refresh_token": alex.refresh });
    let calls = (0..8).map(|_| app.post("/v1/auth/refresh").json(&body).send());
    let answers = futures_util::future::join_all(calls).await;
    let succeeded = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(succeeded <= 1 && answers.iter().all(|a| a.status == 200 || a.status == 401), "{answers:?}");
    app.stop().await;
}

#[tokio::test]
async fn logout_ends_the_sign_in_on_every_node_at_once() {
    let app = TestApp::with(|settings| {
        settings.cluster.mode = node::settings::ClusterMode::Multi;
        // Only the notification can be that fast.
        settings.auth.revocation_interval = std::time::Duration::from_secs(3600);
    })
    .await;
    let mut settings = app.shared.settings();
    settings.cluster.mode = node::settings::ClusterMode::Multi;
    settings.auth.revocation_interval = std::time::Duration::from_secs(3600);
    let other = app.shared.start(&settings).await;
    let alex = app.person("alex").await;
    other.get("/v1/users/me").by(&alex).expect(200).await;
    app.post("/v1/auth/logout").by(&alex).expect(204).await;
    app.get("/v1/users/me").by(&alex).refused(401, "session_revoked").await;
    until_revoked(&other, &alex).await;
    let body = json!({ "refresh_token": alex.refresh });
    other.post("/v1/auth/refresh").json(&body).refused(401, "unauthenticated").await;
    app.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_node_that_missed_the_notification_asks() {
    // Single: nobody is told anything.
    let app = TestApp::start().await;
    let mut settings = app.shared.settings();
    settings.auth.revocation_interval = std::time::Duration::from_millis(50);
    let other = app.shared.start(&settings).await;
    let alex = app.person("alex").await;
    other.get("/v1/users/me").by(&alex).expect(200).await;
    app.post("/v1/auth/logout").by(&alex).expect(204).await;
    until_revoked(&other, &alex).await;
    app.stop().await;
    other.stop().await;
}

async fn until_revoked(app: &TestApp, person: &Person) {
    let asked = async {
        while app.get("/v1/users/me").by(person).send().await.status == 200 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), asked).await.expect("refused before long");
    app.get("/v1/users/me").by(person).refused(401, "session_revoked").await;
}

#[tokio::test]
async fn logout_works_with_the_refresh_token_alone() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    app.post("/v1/auth/logout").refused(401, "unauthenticated").await;
    app.post("/v1/auth/logout")
        .json(&json!({ "refresh_token": "junk" }))
        .refused(401, "unauthenticated")
        .await;
    app.post("/v1/auth/logout").json(&json!({ "refresh_token": alex.refresh })).expect(204).await;
    app.get("/v1/users/me").by(&alex).refused(401, "session_revoked").await;
    app.stop().await;
}

#[tokio::test]
async fn tokens_that_are_not_good_are_told_apart() {
    let app = TestApp::with(|settings| {
        settings.auth.access_ttl = std::time::Duration::from_secs(1);
        settings.auth.leeway = std::time::Duration::ZERO;
    })
    .await;
    let alex = app.person("alex").await;
    let none = app.get("/v1/users/me").refused(401, "unauthenticated").await;
    assert_eq!(none.headers["www-authenticate"], "Bearer");
    for token in ["", "junk", &alex.refresh, &alex.token[..alex.token.len() - 2]] {
        app.get("/v1/users/me").bearer(token).refused(401, "unauthenticated").await;
    }
    app.get("/v1/users/me").header("authorization", "Basic YTpi").refused(401, "unauthenticated").await;
    let expired = async {
        loop {
            let answer = app.get("/v1/users/me").by(&alex).send().await;
            if answer.status != 200 {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let answer = tokio::time::timeout(std::time::Duration::from_secs(5), expired).await.expect("expires");
    assert_eq!(answer.body["code"], "token_expired");
    app.stop().await;
}

#[tokio::test]
async fn the_rate_limit_counts_over_nodes_and_by_client() {
    let limited = |settings: &mut node::Settings| {
        settings.auth.rate = 0.01;
        settings.auth.burst = 4;
        settings.http.trusted_proxies = serde_json::from_value(json!(["127.0.0.1"])).unwrap();
    };
    let app = TestApp::with(limited).await;
    let mut settings = app.shared.settings();
    limited(&mut settings);
    let other = app.shared.start(&settings).await;
    let tried = |app: &TestApp, client: &str| {
        app.post("/v1/auth/login").header("x-forwarded-for", client).json(&login("nobody", PASSWORD))
    };
    for node in [&app, &other, &app, &other] {
        tried(node, "203.0.113.1").refused(401, "bad_credentials").await;
    }
    for node in [&app, &other] {
        let refused = tried(node, "203.0.113.1").refused(429, "rate_limited").await;
        let after: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=100).contains(&after), "{after}");
    }
    // What a client puts in front does not make it another one; another client is not limited.
    tried(&app, "198.51.100.7, 203.0.113.1").refused(429, "rate_limited").await;
    tried(&app, "203.0.113.2").refused(401, "bad_credentials").await;
    // One household of IPv6 is one client.
    for at in 1..=4 {
        tried(&app, &format!("2001:db8::{at}")).refused(401, "bad_credentials").await;
    }
    tried(&app, "2001:db8::5").refused(429, "rate_limited").await;
    app.stop().await;
    other.stop().await;
}
