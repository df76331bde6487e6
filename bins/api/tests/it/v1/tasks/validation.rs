//! What is refused of tasks, and how it is said.

use serde_json::{Value, json};

use super::{webhook, with};
use crate::app::TestApp;

#[tokio::test]
async fn each_field_that_is_wrong_is_named() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    let action = |action: Value| with(webhook(), "action", action);
    let field = |field: &str, value: Value| with(webhook(), field, value);
    let message = |body: Value| action(json!({ "kind": "message", "room_id": room, "body": body }));
    let run = |input: Value| {
        action(json!({ "kind": "agent_run", "room_id": room, "agent_id": room, "input": input }))
    };
    for (body, named, says) in [
        (json!({ "name": "Ping" }), "action", "is missing"),
        (field("name", json!("")), "name", "1 to 80"),
        (field("name", json!("a\u{0}b")), "name", "NUL"),
        (field("owner_id", json!(room)), "owner_id", "is unknown"),
        (field("schedule", json!("0 25 * * *")), "schedule.hour", "0 to 23"),
        (field("schedule", json!("* * *")), "schedule", "five"),
        (field("schedule", json!("0 0 30 2 *")), "schedule", "a day there is"),
        (field("schedule", json!("every 10ms")), "schedule", "1s"),
        (field("schedule", json!(5)), "schedule", "expected a string"),
        (field("schedule", json!("@daily\u{0}")), "schedule", "NUL"),
        (field("timezone", json!("Europe/Nowhere")), "timezone", "IANA"),
        (field("is_active", json!("yes")), "is_active", "expected a boolean"),
        (field("priority", json!("urgent")), "priority", "`low`"),
        (field("max_runtime", json!("soon")), "max_runtime", "is not a duration"),
        (field("max_runtime", json!(0)), "max_runtime", "1s to 1d"),
        (field("max_runtime", json!("25h")), "max_runtime", "1s to 1d"),
        (field("retries", json!(21)), "retries", "0 to 20"),
        (field("retries", json!(-1)), "retries", "expected u32"),
        (field("misfire", json!("twice")), "misfire", "`once`"),
        (field("hook", json!({ "signature": "pgp" })), "hook.signature", "`github`"),
        (field("hook", json!({ "secret": "x" })), "hook.secret", "is unknown"),
        (field("hook", json!("none")), "hook", "expected an object"),
        (action(json!(["message"])), "action", "expected an object"),
        (action(json!({})), "action.kind", "is missing"),
        (action(json!({ "kind": "shell" })), "action.kind", "`webhook`"),
        (action(json!({ "kind": "message", "body": "Hello" })), "action.room_id", "is missing"),
        (
            action(json!({ "kind": "message", "room_id": "garden", "body": "Hello" })),
            "action.room_id",
            "UUID",
        ),
        (action(json!({ "kind": "message", "room_id": room })), "action.body", "is missing"),
        (
            action(json!({ "kind": "webhook", "url": "https://example.com", "room_id": room })),
            "action.room_id",
            "is unknown; known is `kind`, `url`, `body`",
        ),
        (
            action(json!({ "kind": "webhook", "url": "https://example.com", "method": "PUT" })),
            "action.method",
            "is unknown",
        ),
        (message(json!({ "text": "Hello" })), "action.body", "must be a text"),
        (message(json!("")), "action.body", "1 to 16384 bytes"),
        (message(json!("x".repeat(16 * 1024 + 1))), "action.body", "1 to 16384 bytes"),
        (message(json!("\u{0}")), "action.body", "NUL"),
        (run(json!("x".repeat(64 * 1024))), "action.input", "at most 65536 bytes"),
        (run(json!({ "a": ["\u{0}"] })), "action.input.a[0]", "NUL"),
        (action(json!({ "kind": "webhook" })), "action.url", "is missing"),
        (action(json!({ "kind": "webhook", "url": "http://example.com" })), "action.url", "https://"),
        (action(json!({ "kind": "webhook", "url": "https://127.0.0.1/" })), "action.url", "public"),
        (action(json!({ "kind": "webhook", "url": "https://example.com/\u{0}" })), "action.url", "NUL"),
        (
            action(json!({ "kind": "webhook", "url": "https://example.com", "body": "x".repeat(64 * 1024) })),
            "action.body",
            "at most 65536 bytes",
        ),
        (action(json!({ "kind": "system", "name": "reboot" })), "action.name", "`noop`"),
    ] {
        let refused = app.post("/v1/tasks").by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], named, "{body}: {}", refused.raw);
        assert!(refused.text("detail").contains(says), "{body}: {}", refused.raw);
    }
    let (key, long) = ("idempotency-key", "k".repeat(65));
    let refused = app
        .post("/v1/tasks")
        .by(&alex)
        .header(key, &long)
        .json(&webhook())
        .refused(400, "invalid_field")
        .await;
    assert_eq!(refused.body["field"], "Idempotency-Key");
    assert!(app.get("/v1/tasks").by(&alex).expect(200).await.items().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn edits_are_held_to_the_same() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let made = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await;
    let path = format!("/v1/tasks/{}", made.text("id"));
    for (body, named) in [
        (json!({}), "the body"),
        (json!({ "hook": null }), "hook"),
        (json!({ "name": null }), "the body"),
        (json!({ "name": "" }), "name"),
        (json!({ "schedule": "0 0 30 2 *" }), "schedule"),
        (json!({ "schedule": "0 24 * * *" }), "schedule.hour"),
        (json!({ "timezone": "Nowhere" }), "timezone"),
        (json!({ "action": { "kind": "webhook", "url": "ftp://example.com" } }), "action.url"),
        (json!({ "action": { "kind": "system" } }), "action.name"),
        (json!({ "max_runtime": 0 }), "max_runtime"),
        (json!({ "retries": 21 }), "retries"),
        (json!({ "priority": "urgent" }), "priority"),
        (json!({ "misfire": 1 }), "misfire"),
    ] {
        let refused = app.patch(&path).by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], named, "{body}: {}", refused.raw);
    }
    let read = app.get(&path).by(&alex).expect(200).await.body;
    assert_eq!(read["updated_at"], made.body["updated_at"], "nothing was written");
    app.stop().await;
}

#[tokio::test]
async fn queries_and_previews_are_held_to_something_too() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    for (query, named) in [
        ("limit=0".to_owned(), "limit"),
        ("limit=201".to_owned(), "limit"),
        ("cursor=x".to_owned(), "cursor"),
        ("room_id=garden".to_owned(), "room_id"),
        (format!("room_id={room}&all=true"), "all"),
        ("owner=alex".to_owned(), "owner"),
    ] {
        let refused = app.get(&format!("/v1/tasks?{query}")).by(&alex).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], named, "{query}");
    }
    for (body, named) in [
        (json!({}), "schedule"),
        (json!({ "schedule": "* * * *" }), "schedule"),
        (json!({ "schedule": "*/0 * * * *" }), "schedule.minute"),
        (json!({ "schedule": "0 0 31 2 *" }), "schedule"),
        (json!({ "schedule": "@daily", "timezone": "" }), "timezone"),
        (json!({ "schedule": "@daily", "count": 0 }), "count"),
        (json!({ "schedule": "@daily", "count": 101 }), "count"),
    ] {
        let refused = app.post("/v1/tasks/preview").by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], named, "{body}: {}", refused.raw);
    }
    app.stop().await;
}
