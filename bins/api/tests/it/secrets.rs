//! What is secret stands in no log line, whatever the level.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::app::{PASSWORD, TestApp};

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_is_logged() {
    let sink = Sink::default();
    let writer = sink.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone());
    subscriber.init();

    let app = TestApp::with(|settings| settings.auth.lockout_threshold = 2).await;
    let alex = app.person("alex").await;
    let ticket = app.post("/v1/ws/ticket").by(&alex).expect(201).await.text("ticket");
    let next = app.post("/v1/auth/refresh").json(&json!({ "refresh_token": alex.refresh })).expect(200).await;
    app.post("/v1/auth/refresh").json(&json!({ "refresh_token": alex.refresh })).expect(401).await;
    for _ in 0..3 {
        let guess = json!({ "handle": alex.handle, "password": "guessed horse battery" });
        app.post("/v1/auth/login").json(&guess).send().await;
    }
    app.post("/v1/auth/register")
        .json(&json!({ "handle": "sam", "password": ["hidden horse"] }))
        .expect(400)
        .await;
    app.get(&format!("/v1/gateway?ticket={ticket}")).expect(404).await;
    app.post("/v1/hooks/hook-secret-in-a-path").expect(404).await;
    app.get("/v1/users/me").bearer("eyJ.forged.token").expect(401).await;
    let next = next.text("refresh_token");
    let sam = app.person("sam").await;
    let agent = app.agent(&sam, "builder").await;
    app.get("/v1/agents/me").bearer(&agent.token).expect(200).await;
    let rotate = app.post(&format!("/v1/agents/{}/token", agent.id)).by(&sam).expect(200).await;
    app.get("/v1/agents/me").bearer(&agent.token).expect(401).await;
    let rotated = rotate.text("token");
    let task = json!({ "name": "Build", "hook": { "signature": "standard" },
        "action": { "kind": "webhook", "url": "https://example.com/build" } });
    let task = app.post("/v1/tasks").by(&sam).json(&task).expect(201).await;
    let hook = task.text("hook_url");
    let hook = hook.strip_prefix(&app.url).unwrap();
    app.post(hook).header("webhook-id", "m1").text("said-to-the-hook").expect(401).await;
    let open = app
        .post(&format!("/v1/tasks/{}/hook", task.text("id")))
        .by(&sam)
        .json(&json!({ "signature": "none" }));
    let open = open.expect(200).await.text("hook_url");
    let open = open.strip_prefix(&app.url).unwrap();
    app.post(open).header("webhook-id", "m2").text("said-to-the-hook").expect(202).await;
    let device = json!({ "kind": "mobile", "name": "Phone" });
    let device = app.post("/v1/devices").by(&sam).json(&device).expect(201).await.text("id");
    let path = format!("/v1/devices/{device}/push");
    let subscription = testkit::push::FakePush::start().await.subscribe();
    for (origin, status) in [("https://8.8.8.8", 200), ("https://127.0.0.1", 400)] {
        let keys = json!({ "p256dh": subscription.p256dh, "auth": subscription.auth });
        let body = json!({ "endpoint": format!("{origin}/path-of-an-endpoint"), "keys": keys });
        app.put(&path).by(&sam).json(&body).expect(status).await;
        app.post(&format!("{path}/test")).by(&sam).expect(202).await;
    }
    let body = json!({ "driver": "webhook", "token": "token-of-a-relay" });
    app.put(&path).by(&sam).json(&body).expect(409).await;
    app.stop().await;

    let log = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("a refresh token was used twice"), "the log is written: {log}");
    let secrets = [
        PASSWORD,
        "guessed horse",
        "hidden horse",
        &alex.token,
        &alex.refresh,
        &next,
        &ticket,
        "hook-secret-in-a-path",
        "eyJ.forged.token",
        &agent.token,
        &rotated,
        hook.rsplit('/').next().unwrap(),
        open.rsplit('/').next().unwrap(),
        &task.text("hook_secret"),
        &task.text("webhook_secret"),
        "said-to-the-hook",
        "path-of-an-endpoint",
        &subscription.auth,
        "token-of-a-relay",
    ];
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}
