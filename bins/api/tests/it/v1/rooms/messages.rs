//! `/v1/rooms/{id}/messages` and its reactions.

use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn a_message_has_its_event_and_a_nonce_makes_it_safe_to_repeat() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let body = json!({ "body": format!("soup, @{}? not @nobody", sam.handle), "nonce": "n-1" });
    let send = |person| app.post(&format!("/v1/rooms/{room}/messages")).by(person).json(&body);
    let first = send(&alex).expect(201).await;
    let event = &first.body["event"];
    assert_eq!(event["stream"], format!("room:{room}"));
    assert_eq!(
        (&event["kind"], &event["sender"]),
        (&"message.created".into(), &json!({ "kind": "user", "id": alex.id }))
    );
    assert_eq!((&event["data"]["body"], &event["data"]["nonce"]), (&body["body"], &body["nonce"]));
    assert_eq!(event["data"]["mentions"], json!([sam.id]));
    assert_eq!(event["data"]["reply_to"], Value::Null);
    assert_eq!(send(&alex).expect(200).await.body, first.body);
    assert_ne!(send(&sam).expect(201).await.body["event"]["id"], event["id"], "nonces are the sender's");
    let reply = json!({ "body": "yes", "reply_to": event["id"] });
    let reply = app.post(&format!("/v1/rooms/{room}/messages")).by(&sam).json(&reply).expect(201).await;
    assert_eq!(reply.body["event"]["data"]["reply_to"], event["id"]);
    app.stop().await;
}

#[tokio::test]
async fn sends_at_the_same_time_with_one_nonce_are_one_event() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    let body = json!({ "body": "once", "nonce": "n" });
    let path = format!("/v1/rooms/{room}/messages");
    let answers =
        futures_util::future::join_all((0..16).map(|_| app.post(&path).by(&alex).json(&body).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.body["event"] == answers[0].body["event"]), "{answers:?}");
    app.stop().await;
}

#[tokio::test]
async fn the_header_stands_for_the_nonce() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    let send = || {
        app.post(&format!("/v1/rooms/{room}/messages"))
            .by(&alex)
            .header("idempotency-key", "k")
            .json(&json!({ "body": "x" }))
    };
    let first = send().expect(201).await;
    assert_eq!(send().expect(200).await.body, first.body);
    assert_eq!(first.body["event"]["data"]["nonce"], "k");
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let app = TestApp::with(|settings| settings.messages.max_body_bytes = 100).await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[]).await;
    let path = format!("/v1/rooms/{room}/messages");
    for (body, field) in [
        (json!({}), "body"),
        (json!({ "body": " \n" }), "body"),
        (json!({ "body": "a\u{0}b" }), "body"),
        (json!({ "body": "x".repeat(101) }), "body"),
        (json!({ "body": 5 }), "body"),
        (json!({ "body": "x", "nonce": "" }), "nonce"),
        (json!({ "body": "x", "nonce": "a b" }), "nonce"),
        (json!({ "body": "x", "nonce": "n".repeat(65) }), "nonce"),
        (json!({ "body": "x", "reply_to": "y" }), "reply_to"),
        (json!({ "body": "x", "at": "now" }), "at"),
    ] {
        let refused = app.post(&path).by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    let reply = json!({ "body": "x", "reply_to": domain::EventId::new() });
    assert_eq!(
        app.post(&path).by(&alex).json(&reply).refused(400, "invalid_field").await.body["field"],
        "reply_to"
    );
    app.post(&path).by(&sam).json(&json!({ "body": "x" })).refused(404, "not_found").await;
    app.post(&path).by(&alex).json(&json!({ "body": "\u{e9}".repeat(50) })).expect(201).await;
    app.stop().await;
}

#[tokio::test]
async fn messages_are_edited_by_their_sender_and_deleted_by_owners_too() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let event = app.say(&sam, &room, "a secret").await;
    let path = format!("/v1/rooms/{room}/messages/{}", event["id"].as_str().unwrap());
    let edit = json!({ "body": "another secret" });
    app.patch(&path).by(&alex).json(&edit).refused(403, "forbidden").await;
    let edited = app.patch(&path).by(&sam).json(&edit).expect(200).await;
    assert_eq!(edited.body["event"]["kind"], "message.edited");
    assert_eq!(edited.body["event"]["data"]["event_id"], event["id"]);
    app.delete(&path).by(&alex).expect(204).await;
    app.delete(&path).by(&alex).expect(204).await;
    app.patch(&path).by(&sam).json(&edit).refused(409, "message_deleted").await;
    app.put(&format!("{path}/reactions/x")).by(&sam).refused(409, "message_deleted").await;
    let log = app.get(&format!("/v1/rooms/{room}/events?after=0")).by(&alex).expect(200).await;
    assert!(!log.body.to_string().contains("secret"), "its text is gone from the log: {log:#?}");
    let deleted = log.each("kind").iter().filter(|kind| **kind == "message.deleted").count();
    assert_eq!(deleted, 1);
    app.delete(&format!("/v1/rooms/{room}/messages/{}", domain::EventId::new()))
        .by(&alex)
        .refused(404, "not_found")
        .await;
    app.stop().await;
}

#[tokio::test]
async fn reactions_come_and_go_once() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let event = app.say(&alex, &room, "hello").await;
    let path = format!("/v1/rooms/{room}/messages/{}/reactions", event["id"].as_str().unwrap());
    for _ in 0..2 {
        app.put(&format!("{path}/%F0%9F%91%8D")).by(&sam).expect(204).await;
    }
    for _ in 0..2 {
        app.delete(&format!("{path}/%F0%9F%91%8D")).by(&sam).expect(204).await;
    }
    let log = app.get(&format!("/v1/rooms/{room}/events?after={}", event["seq"])).by(&alex).expect(200).await;
    assert_eq!(log.each("kind"), ["reaction.added", "reaction.removed"]);
    assert_eq!(log.items()[0]["data"]["emoji"], "\u{1f44d}");
    for bad in ["a%20b", "%00", &"x".repeat(33)] {
        let refused = app.put(&format!("{path}/{bad}")).by(&sam).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], "emoji", "{bad}");
    }
    app.put(&format!("{path}/%FF")).by(&sam).refused(400, "invalid_field").await;
    app.stop().await;
}
