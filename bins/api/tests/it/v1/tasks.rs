//! `/v1/tasks`.

mod rights;
mod runs;
mod schedules;
mod validation;

use std::collections::BTreeSet;

use domain::TaskId;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::app::{Person, TestApp};
use crate::call::Answer;

impl TestApp {
    /// A task of somebody that says good morning in a room.
    pub(crate) async fn task(&self, owner: &Person, room: &str) -> Answer {
        let body = json!({ "name": "Greet", "action": { "kind": "message", "room_id": room, "body": "Good morning" } });
        self.post("/v1/tasks").by(owner).json(&body).expect(201).await
    }
}

fn webhook() -> Value {
    json!({ "name": "Ping", "action": { "kind": "webhook", "url": "https://example.com/ping" } })
}

/// A body with another field in it.
fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

fn at(time: &Value) -> Timestamp {
    time.as_str().expect("a time").parse().expect("a time")
}

#[tokio::test]
async fn a_task_is_made_shown_and_deleted() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let action = json!({ "kind": "message", "room_id": room, "body": "Good morning" });
    let body = json!({
        "name": "Greet", "schedule": " 0 8 * * mon-fri", "timezone": "europe/berlin", "action": action, "priority": "high",
        "max_runtime": "90s", "retries": 0, "misfire": "skip", "hook": null,
    });
    let made = app.post("/v1/tasks").by(&alex).json(&body).expect(201).await.body;
    let fields: BTreeSet<&str> = made.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "id",
        "owner_id",
        "name",
        "schedule",
        "timezone",
        "action",
        "is_active",
        "priority",
        "max_runtime",
        "retries",
        "misfire",
        "next_run_at",
        "last_run_at",
        "run_count",
        "hook",
        "created_at",
        "updated_at",
    ];
    assert_eq!(fields, BTreeSet::from(expected));
    let shown = |field: &str| made[field].clone();
    assert_eq!((shown("owner_id"), shown("name"), shown("action")), (json!(alex.id), json!("Greet"), action));
    assert_eq!((shown("schedule"), shown("timezone")), (json!("0 8 * * mon-fri"), json!("Europe/Berlin")));
    assert_eq!(
        (shown("is_active"), shown("priority"), shown("misfire")),
        (json!(true), json!("high"), json!("skip"))
    );
    assert_eq!((shown("max_runtime"), shown("retries"), shown("hook")), (json!(90), json!(0), json!(null)));
    assert_eq!((shown("last_run_at"), shown("run_count")), (json!(null), json!(0)));
    let schedule = domain::Schedule::parse("0 8 * * mon-fri", "Europe/Berlin").unwrap();
    assert_eq!(Some(at(&made["next_run_at"])), schedule.next_after(Timestamp::now()));

    let path = format!("/v1/tasks/{}", made["id"].as_str().unwrap());
    assert_eq!(app.get(&path).by(&alex).expect(200).await.body, made);
    assert_eq!(app.get(&path).by(&sam).expect(200).await.body, made);
    assert_eq!(app.get("/v1/tasks").by(&alex).expect(200).await.items(), std::slice::from_ref(&made));
    assert!(app.get("/v1/tasks").by(&sam).expect(200).await.items().is_empty());
    let of_room = format!("/v1/tasks?room_id={room}");
    assert_eq!(app.get(&of_room).by(&sam).expect(200).await.items(), [made]);

    app.delete(&path).by(&alex).expect(204).await;
    app.get(&path).by(&alex).refused(404, "not_found").await;
    app.delete(&path).by(&alex).refused(404, "not_found").await;
    app.patch(&path).by(&alex).json(&json!({ "name": "Wave" })).refused(404, "not_found").await;
    app.post(&format!("{path}/run")).by(&alex).refused(404, "not_found").await;
    app.get(&format!("{path}/runs")).by(&alex).refused(404, "not_found").await;
    app.post(&format!("{path}/hook")).by(&alex).refused(404, "not_found").await;
    for list in ["/v1/tasks", &of_room] {
        assert!(app.get(list).by(&alex).expect(200).await.items().is_empty(), "{list}");
    }
    app.get(&format!("/v1/tasks/{}", TaskId::new())).by(&alex).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn what_is_left_out_is_as_it_is_set() {
    let app = TestApp::with(|settings| settings.tasks.retries = 7).await;
    let alex = app.person("alex").await;
    let made = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await;
    let shown = |field: &str| made.body[field].clone();
    assert_eq!(
        (shown("schedule"), shown("timezone"), shown("is_active")),
        (json!(null), json!("UTC"), json!(true))
    );
    assert_eq!((shown("priority"), shown("misfire")), (json!("normal"), json!("once")));
    assert_eq!((shown("max_runtime"), shown("retries")), (json!(300), json!(7)));
    assert_eq!((shown("hook"), shown("next_run_at")), (json!({ "signature": "none" }), json!(null)));
    // Shown this once.
    assert!(made.text("hook_url").starts_with(&format!("{}/v1/hooks/", app.url)), "{made:?}");
    assert!(made.text("webhook_secret").starts_with("whsec_"));
    assert_eq!(made.body["hook_secret"], json!(null));
    let read = app.get(&format!("/v1/tasks/{}", made.text("id"))).by(&alex).expect(200).await;
    for secret in ["hook_url", "webhook_secret"] {
        assert!(!read.raw.contains(secret) && !read.raw.contains(&made.text(secret)), "{}", read.raw);
    }
    app.stop().await;
}

#[tokio::test]
async fn the_same_key_makes_one_task_without_showing_its_secrets_again() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let body = with(webhook(), "hook", json!({ "signature": "standard" }));
    let make = |person| app.post("/v1/tasks").by(person).header("idempotency-key", "k").json(&body);
    let answers = futures_util::future::join_all((0..8).map(|_| make(&alex).send())).await;
    let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(made.len(), 1, "{answers:?}");
    for answer in &answers {
        assert_eq!(answer.text("id"), made[0].text("id"));
        let shown = answer.raw.contains("hook_url") || answer.raw.contains("secret");
        assert_eq!(shown, answer.status == 201, "{answer:?}");
    }
    assert!(made[0].text("hook_secret").starts_with("whsec_"));
    let other = make(&sam).expect(201).await;
    assert_ne!(other.text("id"), made[0].text("id"), "a key is its person's");
    let device = json!({ "kind": "web", "name": "tab" });
    app.post("/v1/devices")
        .by(&alex)
        .header("idempotency-key", "k")
        .json(&device)
        .refused(409, "nonce_reused")
        .await;
    app.stop().await;
}

#[tokio::test]
async fn tasks_are_listed_page_by_page_the_newest_first() {
    let app = TestApp::start().await;
    let (alex, admin) = (app.person("alex").await, app.admin().await);
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(
            0,
            Value::from(app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await.text("id")),
        );
    }
    for (person, all) in [(&alex, ""), (&admin, "&all=true")] {
        let (mut listed, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = app.get(&format!("/v1/tasks?limit=2{all}{cursor}")).by(person).expect(200).await;
            listed.extend(page.each("id"));
            let Some(next) = page.body["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(listed, made);
    }
    app.get("/v1/tasks?all=true").by(&alex).refused(403, "forbidden").await;
    app.stop().await;
}

#[tokio::test]
async fn nobody_has_more_tasks_than_they_may() {
    let app = TestApp::with(|settings| settings.tasks.max_per_owner = 3).await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let calls = (0..10).map(|_| app.post("/v1/tasks").by(&alex).json(&webhook()).send());
    let answers = futures_util::future::join_all(calls).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    let full =
        answers.iter().filter(|answer| answer.status == 409 && answer.body["code"] == "conflict").count();
    assert_eq!((made, full), (3, 7), "{answers:?}");
    app.post("/v1/tasks").by(&sam).json(&webhook()).expect(201).await;
    let one = answers.iter().find(|answer| answer.status == 201).unwrap().text("id");
    app.delete(&format!("/v1/tasks/{one}")).by(&alex).expect(204).await;
    app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await;
    app.stop().await;
}

#[tokio::test]
async fn what_is_edited_changes_and_the_rest_stays() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    let made = app.task(&alex, &room).await;
    let path = format!("/v1/tasks/{}", made.text("id"));
    let edit = |body: Value| app.patch(&path).by(&alex).json(&body);

    let timed = edit(json!({ "schedule": "0 0 1 1 *", "timezone": "Asia/Tokyo" })).expect(200).await.body;
    assert_eq!((&timed["name"], &timed["timezone"]), (&json!("Greet"), &json!("Asia/Tokyo")));
    let new_year = domain::Schedule::parse("0 0 1 1 *", "Asia/Tokyo").unwrap();
    assert_eq!(Some(at(&timed["next_run_at"])), new_year.next_after(Timestamp::now()));

    let paused = edit(json!({ "is_active": false })).expect(200).await.body;
    assert_eq!((&paused["is_active"], &paused["next_run_at"]), (&json!(false), &json!(null)));
    let renamed = edit(
        json!({ "name": "Wave", "priority": "low", "max_runtime": 1.5, "retries": 20, "misfire": "skip" }),
    );
    let renamed = renamed.expect(200).await.body;
    assert_eq!(
        (&renamed["name"], &renamed["priority"], &renamed["misfire"]),
        (&json!("Wave"), &json!("low"), &json!("skip"))
    );
    assert_eq!((&renamed["max_runtime"], &renamed["retries"]), (&json!(1.5), &json!(20)));
    let resumed = edit(json!({ "is_active": true })).expect(200).await.body;
    assert_eq!(resumed["next_run_at"], timed["next_run_at"]);

    // An edit that leaves the times alone moves nothing; another interval begins now.
    let every = edit(json!({ "schedule": "every 1h" })).expect(200).await.body;
    let same = edit(json!({ "name": "Nod", "schedule": "every 1h" })).expect(200).await.body;
    assert_eq!(same["next_run_at"], every["next_run_at"]);
    let unscheduled = edit(json!({ "schedule": null })).expect(200).await.body;
    assert_eq!((&unscheduled["schedule"], &unscheduled["next_run_at"]), (&json!(null), &json!(null)));

    // A webhook that is new has a secret; one that stays keeps it.
    let webhook = json!({ "kind": "webhook", "url": "https://example.com/a" });
    let other = edit(json!({ "action": webhook })).expect(200).await;
    assert!(other.text("webhook_secret").starts_with("whsec_") && other.body["hook_url"].is_null());
    let moved =
        edit(json!({ "action": { "kind": "webhook", "url": "https://example.com/b" } })).expect(200).await;
    assert!(!moved.raw.contains("secret"), "{}", moved.raw);
    assert_eq!(moved.body["action"]["url"], "https://example.com/b");
    assert_eq!(app.get(&path).by(&alex).expect(200).await.body, moved.body);
    app.stop().await;
}

/// Every edit is there in the end, whoever made it and on whatever node.
#[tokio::test]
async fn edits_at_once_lose_nothing() {
    let app = TestApp::start().await;
    let other = app.shared.start(&app.shared.settings()).await;
    let alex = app.person("alex").await;
    let task = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await.text("id");
    let path = format!("/v1/tasks/{task}");
    let changes = [
        json!({ "name": "Pong" }),
        json!({ "retries": 9 }),
        json!({ "priority": "high" }),
        json!({ "misfire": "skip" }),
    ];
    let calls = changes.iter().enumerate().map(|(at, change)| {
        let node = if at % 2 == 0 { &app } else { &other };
        node.patch(&path).by(&alex).json(change).expect(200)
    });
    futures_util::future::join_all(calls).await;
    let now = app.get(&path).by(&alex).expect(200).await.body;
    assert_eq!((&now["name"], &now["retries"]), (&json!("Pong"), &json!(9)));
    assert_eq!((&now["priority"], &now["misfire"]), (&json!("high"), &json!("skip")));
    for node in [app, other] {
        node.stop().await;
    }
}
