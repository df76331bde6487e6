//! `/v1/hooks/{secret}`.

use auth::SigningSecret;
use auth::signature::sign;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::app::{Person, TestApp};
use crate::call::Call;

/// A task with a hook, and the path of its hook.
struct Hooked {
    task: String,
    path: String,
    secret: Option<SigningSecret>,
}

impl Hooked {
    async fn make(app: &TestApp, owner: &Person, signature: &str) -> Self {
        let body = json!({ "name": "Build", "hook": { "signature": signature },
            "action": { "kind": "webhook", "url": "https://example.com/build" } });
        let made = app.post("/v1/tasks").by(owner).json(&body).expect(201).await;
        let path =
            made.text("hook_url").strip_prefix(&app.url).expect("an address of this server").to_owned();
        let secret = made.body["hook_secret"].as_str().map(|text| SigningSecret::parse(text).unwrap());
        Self { task: made.text("id"), path, secret }
    }

    /// A call that is signed as Standard Webhooks wants it.
    fn signed(&self, app: &TestApp, id: &str, seconds_ago: i64, body: &str) -> Call {
        let timestamp = Timestamp::now().as_second() - seconds_ago;
        let signature = sign(self.secret.as_ref().unwrap(), id, timestamp, body.as_bytes());
        let call =
            app.post(&self.path).header("webhook-id", id).header("webhook-timestamp", &timestamp.to_string());
        call.header("webhook-signature", &signature).text(body)
    }
}

async fn runs(app: &TestApp, owner: &Person, task: &str) -> Vec<Value> {
    app.get(&format!("/v1/tasks/{task}/runs")).by(owner).expect(200).await.items().to_vec()
}

#[tokio::test]
async fn a_call_queues_a_run_and_needs_no_sign_in() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "none").await;
    assert!(hook.path.len() >= "/v1/hooks/".len() + 22, "128 bits or more: {}", hook.path);
    let called = app.post(&hook.path).text("any bytes").expect(202).await;
    assert_eq!(called.body["repeated"], false);
    // Neither body nor type nor name of the delivery must be there.
    app.post(&hook.path).expect(202).await;
    app.post(&hook.path).json(&json!({ "ref": "main" })).expect(202).await;
    let runs = runs(&app, &alex, &hook.task).await;
    assert_eq!(runs.len(), 3);
    let first = runs.last().unwrap();
    assert_eq!((&first["id"], &first["trigger"]), (&called.body["run_id"], &json!("webhook")));
    assert_eq!((&first["status"], &first["delivery_id"]), (&json!("queued"), &json!(null)));
    app.get(&hook.path).refused(405, "method_not_allowed").await;
    app.post("/v1/hooks/unknown").refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn fifty_calls_at_once_with_one_delivery_queue_one_run() {
    let app = TestApp::with(|settings| settings.tasks.hook_burst = 1000).await;
    let mut settings = app.shared.settings();
    settings.tasks.hook_burst = 1000;
    let other = app.shared.start(&settings).await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "none").await;
    let calls = (0..50).map(|at| {
        let node = if at % 2 == 0 { &app } else { &other };
        node.post(&hook.path).header("x-delivery-id", "d-1").text("{}").send()
    });
    let answers = futures_util::future::join_all(calls).await;
    let first: Vec<_> = answers.iter().filter(|answer| answer.status == 202).collect();
    assert_eq!(first.len(), 1, "{answers:?}");
    for answer in &answers {
        assert_eq!(answer.body["run_id"], first[0].body["run_id"], "{answer:?}");
        assert_eq!(answer.body["repeated"], answer.status == 200);
    }
    assert_eq!(runs(&app, &alex, &hook.task).await.len(), 1);
    for node in [app, other] {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_delivery_is_named_by_the_first_of_its_headers() {
    let app = TestApp::with(|settings| settings.tasks.hook_burst = 1000).await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "none").await;
    let headers = ["x-delivery-id", "x-github-delivery", "idempotency-key", "webhook-id"];
    for from in 1..=headers.len() {
        let call = headers[..from].iter().fold(app.post(&hook.path), |call, name| call.header(name, name));
        call.expect(202).await;
        let newest = runs(&app, &alex, &hook.task).await.remove(0);
        assert_eq!(newest["delivery_id"], headers[from - 1]);
    }
    // The key of a "run now" is no delivery, though it is called the same.
    let run =
        app.post(&format!("/v1/tasks/{}/run", hook.task)).by(&alex).header("idempotency-key", "webhook-id");
    assert_eq!(run.expect(202).await.body["delivery_id"], "webhook-id");
    assert_eq!(runs(&app, &alex, &hook.task).await.len(), 5);
    // The same delivery of another task is another one.
    let other = Hooked::make(&app, &alex, "none").await;
    app.post(&other.path).header("webhook-id", "webhook-id").expect(202).await;
    app.post(&hook.path).header("webhook-id", &"d".repeat(128)).expect(202).await;
    for (bad, field) in
        [("d".repeat(129), "webhook-id"), ("a b".to_owned(), "webhook-id"), (String::new(), "webhook-id")]
    {
        let refused = app.post(&hook.path).header("webhook-id", &bad).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{bad}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_standard_signature_is_asked_for() {
    let app = TestApp::with(|settings| settings.tasks.hook_burst = 1000).await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "standard").await;
    let signed = |id: &str, ago, body: &str| hook.signed(&app, id, ago, body);
    signed("m1", 0, "{}").expect(202).await;
    let repeated = signed("m1", 0, "{}").expect(200).await;
    assert_eq!(repeated.body["repeated"], true);
    signed("m2", 290, "").expect(202).await;

    for (call, says) in [
        (app.post(&hook.path).text("{}"), "no signature"),
        (signed("m3", 310, "{}"), "too old"),
        (signed("m3", -310, "{}"), "future"),
        (signed("m.3", 0, "{}"), "id"),
        (signed("m3", 0, "{}").text("{ }"), "does not match"),
        (app.post(&hook.path).header("webhook-signature", "v1,AAAA").header("webhook-id", "m3"), "timestamp"),
        (
            app.post(&hook.path)
                .header("webhook-signature", "v1,AAAA")
                .header("webhook-id", "m3")
                .header("webhook-timestamp", "soon"),
            "timestamp",
        ),
        (app.post(&hook.path).header("webhook-signature", "v1,AAAA"), "id"),
    ] {
        let refused = call.refused(401, "bad_signature").await;
        assert!(refused.text("detail").contains(says), "{says}: {}", refused.raw);
        assert_ne!(refused.headers["www-authenticate"], "Bearer");
    }
    let other = Hooked::make(&app, &alex, "standard").await;
    let theirs = Hooked { path: hook.path.clone(), ..other };
    theirs.signed(&app, "m3", 0, "{}").refused(401, "bad_signature").await;
    assert_eq!(runs(&app, &alex, &hook.task).await.len(), 2);
    app.stop().await;
}

#[tokio::test]
async fn what_github_sends_is_understood() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "github").await;
    let key = github(hook.secret.as_ref().unwrap().reveal().as_bytes(), b"{\"zen\":1}");
    let call =
        |signature: &str| app.post(&hook.path).header("x-hub-signature-256", signature).text("{\"zen\":1}");
    call(&key).header("x-github-delivery", "d1").expect(202).await;
    call(&key).header("x-github-delivery", "d1").expect(200).await;
    call(&key.replace("sha256=", "sha1=")).refused(401, "bad_signature").await;
    call(&key).text("{}").refused(401, "bad_signature").await;
    app.post(&hook.path).refused(401, "bad_signature").await;
    app.stop().await;
}

/// What GitHub puts into its header: HMAC as RFC 2104 writes it.
fn github(key: &[u8], body: &[u8]) -> String {
    let pad = |with: u8| -> Vec<u8> { (0..64).map(|at| key.get(at).unwrap_or(&0) ^ with).collect() };
    let inner = Sha256::digest([pad(0x36).as_slice(), body].concat());
    let tag = Sha256::digest([pad(0x5c).as_slice(), &inner].concat());
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

#[tokio::test]
async fn a_body_may_be_so_large_and_anything() {
    let app = TestApp::with(|settings| settings.tasks.max_input_bytes = 1000).await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "none").await;
    app.post(&hook.path).text("x".repeat(1000)).expect(202).await;
    app.post(&hook.path).text("\u{0}\u{1}").header("content-type", "text/nonsense").expect(202).await;
    let refused = app.post(&hook.path).text("x".repeat(1001)).refused(413, "too_large").await;
    assert!(refused.text("detail").contains("1000"), "{}", refused.raw);
    assert_eq!(runs(&app, &alex, &hook.task).await.len(), 2);
    app.stop().await;
}

#[tokio::test]
async fn each_hook_is_limited_over_all_nodes() {
    let change = |settings: &mut node::Settings| {
        settings.tasks.hook_rate = 0.01;
        settings.tasks.hook_burst = 4;
    };
    let app = TestApp::with(change).await;
    let mut settings = app.shared.settings();
    change(&mut settings);
    let other = app.shared.start(&settings).await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "standard").await;
    // What is not signed takes nothing from those who sign.
    for _ in 0..10 {
        app.post(&hook.path).refused(401, "bad_signature").await;
    }
    for at in 0..4 {
        let node = if at % 2 == 0 { &app } else { &other };
        hook.signed(node, &format!("m{at}"), 0, "").expect(202).await;
    }
    for node in [&app, &other] {
        let limited = hook.signed(node, "m9", 0, "").refused(429, "rate_limited").await;
        assert!(limited.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 50);
    }
    let free = Hooked::make(&app, &alex, "none").await;
    app.post(&free.path).expect(202).await;
    for node in [app, other] {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_hook_is_replaced_and_taken_away() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "standard").await;
    let path = format!("/v1/tasks/{}/hook", hook.task);
    let renewed = app.post(&path).by(&alex).expect(200).await;
    assert_eq!(renewed.body["hook"], json!({ "signature": "standard" }), "as before");
    let url = renewed.text("hook_url");
    let new_path = url.strip_prefix(&app.url).unwrap();
    assert_ne!(new_path, hook.path);
    hook.signed(&app, "m1", 0, "").refused(404, "not_found").await;
    let secret = SigningSecret::parse(&renewed.text("hook_secret")).unwrap();
    let stale = Hooked { path: new_path.to_owned(), ..hook };
    stale.signed(&app, "m1", 0, "").refused(401, "bad_signature").await;
    let renewed = Hooked { secret: Some(secret), ..stale };
    renewed.signed(&app, "m1", 0, "").expect(202).await;

    let open = app.post(&path).by(&alex).json(&json!({ "signature": "none" })).expect(200).await;
    assert!(open.body["hook_secret"].is_null() && open.body["hook"]["signature"] == "none");
    app.post(open.text("hook_url").strip_prefix(&app.url).unwrap()).expect(202).await;
    for _ in 0..2 {
        app.delete(&path).by(&alex).expect(204).await;
    }
    app.post(open.text("hook_url").strip_prefix(&app.url).unwrap()).refused(404, "not_found").await;
    let task = app.get(&format!("/v1/tasks/{}", renewed.task)).by(&alex).expect(200).await;
    assert_eq!(task.body["hook"], json!(null));
    let bad =
        app.post(&path).by(&alex).json(&json!({ "signature": "pgp" })).refused(400, "invalid_field").await;
    assert_eq!(bad.body["field"], "signature");
    app.stop().await;
}

#[tokio::test]
async fn the_hook_of_a_task_that_is_paused_or_deleted_takes_nothing() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let hook = Hooked::make(&app, &alex, "none").await;
    let task = format!("/v1/tasks/{}", hook.task);
    app.post(&hook.path).header("x-delivery-id", "d1").expect(202).await;
    app.patch(&task).by(&alex).json(&json!({ "is_active": false })).expect(200).await;
    let paused = app.post(&hook.path).header("x-delivery-id", "d2").refused(409, "conflict").await;
    assert!(paused.text("detail").contains("paused"), "{}", paused.raw);
    // It was taken before: its sender need not try again.
    app.post(&hook.path).header("x-delivery-id", "d1").expect(200).await;
    app.patch(&task).by(&alex).json(&json!({ "is_active": true })).expect(200).await;
    app.post(&hook.path).header("x-delivery-id", "d2").expect(202).await;
    app.delete(&task).by(&alex).expect(204).await;
    app.post(&hook.path).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn the_address_is_that_which_the_owner_used() {
    let app = TestApp::with(|settings| {
        settings.http.trusted_proxies = serde_json::from_value(json!(["127.0.0.1"])).unwrap();
    })
    .await;
    let alex = app.person("alex").await;
    let body =
        json!({ "name": "Build", "action": { "kind": "webhook", "url": "https://example.com/build" } });
    let made = app
        .post("/v1/tasks")
        .by(&alex)
        .header("x-forwarded-proto", "https")
        .header("x-forwarded-host", "chat.example.com")
        .json(&body)
        .expect(201)
        .await;
    assert!(made.text("hook_url").starts_with("https://chat.example.com/v1/hooks/"), "{}", made.raw);
    app.stop().await;
}

#[tokio::test]
async fn the_secret_of_a_webhook_is_replaced_by_its_owner() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let hook = Hooked::make(&app, &alex, "none").await;
    let path = format!("/v1/tasks/{}/webhook-secret", hook.task);
    let first = app.post(&path).by(&alex).expect(200).await.text("webhook_secret");
    let second = app.post(&path).by(&alex).expect(200).await.text("webhook_secret");
    assert!(first.starts_with("whsec_") && second.starts_with("whsec_") && first != second);
    app.post(&path).by(&sam).expect(404).await;
    let shown = app.get(&format!("/v1/tasks/{}", hook.task)).by(&alex).expect(200).await;
    assert!(shown.body.get("webhook_secret").is_none());
    let body = json!({ "action": { "kind": "webhook", "url": "https://example.com/" } });
    app.patch(&format!("/v1/tasks/{}", hook.task)).by(&alex).json(&body).expect(200).await;
}

#[tokio::test]
async fn the_hook_of_somebody_disabled_does_not_listen() {
    let app = TestApp::start().await;
    let (alex, admin) = (app.person("alex").await, app.admin().await);
    let hook = Hooked::make(&app, &alex, "none").await;
    app.post(&hook.path).text("{}").expect(202).await;
    app.post(&format!("/v1/admin/users/{}/disable", alex.id)).by(&admin).expect(204).await;
    app.post(&hook.path).text("{}").refused(409, "conflict").await;
    assert_eq!(runs(&app, &admin, &hook.task).await.len(), 1);
    app.post(&format!("/v1/admin/users/{}/enable", alex.id)).by(&admin).expect(204).await;
    app.post(&hook.path).text("{}").expect(202).await;
}
