//! `/v1/devices/{id}/push` and `/v1/push`: where pushes to devices go.

use std::time::Duration;

use serde_json::{Value, json};
use store::push::{DeviceAfter, FinishedDevice, PushAddress};
use testkit::push::{FakePush, FakeSubscription};
use uuid::Uuid;

use crate::app::{Person, TestApp};

/// Pushes may go to services on this machine, and to a relay.
async fn with_services() -> TestApp {
    TestApp::with(|settings| {
        settings.push.allow_private = true;
        settings.push.webhook_url = "http://127.0.0.1:9/relay".into();
    })
    .await
}

impl TestApp {
    /// A device that somebody has just added; gives the path of its pushes.
    async fn device(&self, person: &Person) -> String {
        let body = json!({ "kind": "mobile", "name": "Phone" });
        let device = self.post("/v1/devices").by(person).json(&body).expect(201).await.text("id");
        format!("/v1/devices/{device}/push")
    }
}

/// As a browser writes it.
fn browsers(subscription: &FakeSubscription) -> Value {
    json!({
        "endpoint": subscription.endpoint, "expirationTime": null,
        "keys": { "p256dh": subscription.p256dh, "auth": subscription.auth },
    })
}

fn id(path: &str) -> &str {
    path.split('/').nth(3).unwrap()
}

fn origin(endpoint: &str) -> String {
    endpoint.split('/').take(3).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn a_device_subscribes_and_is_shown_without_what_is_secret() {
    let (app, service) = (with_services().await, FakePush::start().await);
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (path, subscription) = (app.device(&alex).await, service.subscribe());
    app.get(&path).by(&alex).refused(404, "not_found").await;

    let made = app.put(&path).by(&alex).json(&browsers(&subscription)).expect(200).await;
    let expected = json!({
        "device_id": id(&path), "driver": "web_push", "origin": origin(&subscription.endpoint),
        "created_at": made.body["created_at"], "failures": 0, "last": null,
    });
    assert_eq!(made.body, expected);
    assert!(made.text("created_at").parse::<jiff::Timestamp>().is_ok());
    assert_eq!(app.get(&path).by(&alex).expect(200).await.body, expected);
    let stored = app.store.subscription(alex.id.parse().unwrap(), id(&path).parse().unwrap()).await.unwrap();
    let FakeSubscription { endpoint, p256dh, auth, .. } = subscription.clone();
    assert_eq!(stored.unwrap().address, PushAddress::WebPush { endpoint, p256dh, auth });

    // Somebody else's device is none.
    for call in [app.get(&path), app.delete(&path), app.post(&format!("{path}/test"))] {
        call.by(&sam).refused(404, "not_found").await;
    }
    app.put(&path).by(&sam).json(&browsers(&service.subscribe())).refused(404, "not_found").await;
    assert_eq!(app.get(&path).by(&alex).expect(200).await.body, expected);

    // What a browser gives out is one device's: the one that named it last.
    let other = app.device(&sam).await;
    app.put(&other).by(&sam).json(&browsers(&subscription)).expect(200).await;
    app.get(&path).by(&alex).refused(404, "not_found").await;

    app.delete(&other).by(&sam).expect(204).await;
    app.delete(&other).by(&sam).expect(204).await;
    app.get(&other).by(&sam).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn a_device_gives_its_token_to_the_relay_where_there_is_one() {
    let app = with_services().await;
    let alex = app.person("alex").await;
    let path = app.device(&alex).await;
    let body = json!({ "driver": "webhook", "token": "a-token-of-the-device" });
    let made = app.put(&path).by(&alex).json(&body).expect(200).await;
    assert_eq!((&made.body["driver"], &made.body["origin"]), (&"webhook".into(), &Value::Null));
    assert!(!made.raw.contains("a-token"), "{}", made.raw);
    let stored = app.store.subscription(alex.id.parse().unwrap(), id(&path).parse().unwrap()).await.unwrap();
    assert_eq!(stored.unwrap().address, PushAddress::Webhook { token: "a-token-of-the-device".into() });
    app.stop().await;

    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let path = app.device(&alex).await;
    let refused = app.put(&path).by(&alex).json(&body).refused(409, "conflict").await;
    assert!(refused.text("detail").contains("push.webhook_url"), "{}", refused.raw);
    app.stop().await;
}

#[tokio::test]
async fn endpoints_inside_and_bad_keys_are_refused_by_field() {
    let (app, service) = (TestApp::start().await, FakePush::start().await);
    let alex = app.person("alex").await;
    let path = app.device(&alex).await;
    let mut good = service.subscribe();
    good.endpoint = "https://8.8.8.8/push".into();
    let with = |field: &str, value: Value| {
        let mut body = browsers(&good);
        body[field] = value;
        body
    };
    let endpoint = |endpoint: &str| with("endpoint", json!(endpoint));
    let keys = |p256dh: &str, auth: &str| with("keys", json!({ "p256dh": p256dh, "auth": auth }));
    let long = format!("https://8.8.8.8/{}", "x".repeat(2048));
    for (body, field, says) in [
        (endpoint("https://127.0.0.1/topsecret"), "endpoint", "public"),
        (endpoint("https://[::1]/topsecret"), "endpoint", "public"),
        (endpoint("https://10.1.2.3/topsecret"), "endpoint", "public"),
        (endpoint("https://192.168.1.1/topsecret"), "endpoint", "public"),
        (endpoint("https://169.254.169.254/topsecret"), "endpoint", "public"),
        (endpoint("https://localhost/topsecret"), "endpoint", "public"),
        (endpoint("https://nowhere.invalid/topsecret"), "endpoint", "looked up"),
        (endpoint("http://8.8.8.8/topsecret"), "endpoint", "https://"),
        (endpoint("https://alex:topsecret@8.8.8.8/"), "endpoint", "user name"),
        (endpoint("topsecret"), "endpoint", "no URL"),
        (endpoint(&long), "endpoint", "2048"),
        (with("endpoint", Value::Null), "endpoint", "is missing"),
        (with("endpoint", json!("https://8.8.8.8/\u{0}")), "endpoint", "NUL"),
        (with("keys", Value::Null), "keys", "is missing"),
        (with("keys", json!(["a", "b"])), "keys", "expected an object"),
        (with("keys", json!({ "p256dh": good.p256dh })), "keys.auth", "is missing"),
        (keys("topsecret", &good.auth), "keys.p256dh", "65 bytes"),
        (keys(&good.p256dh, "topsecret"), "keys.auth", "16 bytes"),
        (with("token", json!("topsecret")), "token", "is unknown"),
        (with("driver", json!("pigeon")), "driver", "`webhook`"),
        (with("driver", json!("webhook")), "endpoint", "is unknown"),
        (with("expirationTime", json!("never")), "expirationTime", "f64"),
        (with("options", json!({})), "options", "is unknown"),
        (json!({ "driver": "webhook" }), "token", "is missing"),
        (json!({ "driver": "webhook", "token": "" }), "token", "1 to 2048"),
        (json!({ "driver": "webhook", "token": "top secret" }), "token", "1 to 2048"),
        (json!({ "driver": "webhook", "token": "x".repeat(2049) }), "token", "1 to 2048"),
    ] {
        let refused = app.put(&path).by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}: {}", refused.raw);
        assert!(refused.text("detail").contains(says), "{body}: {}", refused.raw);
        assert!(!refused.raw.contains("topsecret"), "{body}: {}", refused.raw);
    }
    app.get(&path).by(&alex).refused(404, "not_found").await;
    let timed = with("expirationTime", json!(1_796_040_000_000.5));
    app.put(&path).by(&alex).json(&timed).expect(200).await;
    let explicit = with("driver", json!("web_push"));
    app.put(&path).by(&alex).json(&explicit).expect(200).await;
    let agent = app.agent(&alex, "helper").await;
    app.put(&path).bearer(&agent.token).json(&browsers(&good)).refused(403, "forbidden").await;
    app.stop().await;
}

#[tokio::test]
async fn a_push_to_try_it_is_asked_for_and_its_result_is_shown() {
    let (app, service) = (with_services().await, FakePush::start().await);
    let alex = app.person("alex").await;
    let path = app.device(&alex).await;
    let test = format!("{path}/test");
    app.post(&test).by(&alex).refused(404, "not_found").await;
    app.put(&path).by(&alex).json(&browsers(&service.subscribe())).expect(200).await;
    assert!(app.post(&test).by(&alex).expect(202).await.body.is_null());

    // A worker takes it.
    let claim = Uuid::now_v7();
    let claimed = app.store.claim_pushes(claim, Duration::from_secs(30), 10, 10).await.unwrap();
    let [device] = claimed.as_slice() else { panic!("{claimed:?}") };
    assert!(device.is_test);
    let finished = FinishedDevice {
        claim,
        device: device.device,
        tested: true,
        steps: Vec::new(),
        after: DeviceAfter::Rests { pause: Duration::from_secs(60), result: "503 from example.com".into() },
    };
    app.store.finish_pushes(domain::NodeId::new(), &[finished]).await.unwrap();
    let shown = app.get(&path).by(&alex).expect(200).await;
    assert_eq!(
        (&shown.body["failures"], &shown.body["last"]["result"]),
        (&1.into(), &"503 from example.com".into())
    );
    assert!(shown.body["last"]["at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());

    // Not as often as one likes: each is a request to somebody else's server. By person, whichever the device.
    let other = app.device(&alex).await;
    app.put(&other).by(&alex).json(&browsers(&service.subscribe())).expect(200).await;
    let mut taken = 0;
    let limited = loop {
        let path = if taken % 2 == 0 { &path } else { &other };
        let answer = app.post(&format!("{path}/test")).by(&alex).send().await;
        if answer.status != 202 {
            break answer;
        }
        taken += 1;
        assert!(taken < 20, "no limit");
    };
    assert_eq!((limited.status, limited.text("code")), (429, "rate_limited".to_owned()));
    assert!(taken >= 3 && limited.headers.contains_key("retry-after"), "{taken} {limited:?}");
    let sam = app.person("sam").await;
    app.post(&format!("{}/test", app.device(&sam).await)).by(&sam).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn every_node_gives_browsers_the_same_key() {
    let shared = crate::app::Shared::new().await;
    let settings = shared.settings();
    let apps = futures_util::future::join_all((0..3).map(|_| shared.start(&settings))).await;
    let alex = apps[0].person("alex").await;
    let key = push::VapidKey::load(&settings.push.vapid_key_dir).await.unwrap();
    for app in &apps {
        let answer = app.get("/v1/push/key").by(&alex).expect(200).await;
        assert_eq!(answer.body, json!({ "public_key": key.public() }));
    }
    for app in apps {
        app.stop().await;
    }
}

#[tokio::test]
async fn without_its_key_a_node_serves_everything_else_and_mends_by_itself() {
    let shared = crate::app::Shared::new().await;
    let settings = shared.settings();
    std::fs::write(&settings.push.vapid_key_dir, "in the way").unwrap();
    let app = shared.start(&settings).await;
    let alex = app.person("alex").await;
    let refused = app.get("/v1/push/key").by(&alex).refused(503, "unavailable").await;
    let dir = settings.push.vapid_key_dir.to_str().unwrap();
    assert!(refused.headers.contains_key("retry-after") && !refused.raw.contains(dir), "{refused:?}");
    let path = app.device(&alex).await;
    app.get(&path).by(&alex).refused(404, "not_found").await;
    std::fs::remove_file(&settings.push.vapid_key_dir).unwrap();
    app.get("/v1/push/key").by(&alex).expect(200).await;
    app.stop().await;
}
