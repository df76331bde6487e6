//! `/v1/rooms`.

mod agents;
mod events;
mod members;
mod messages;
mod runs;

use domain::RoomId;
use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn a_room_is_created_once_for_each_key_and_shown_to_its_members() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let body = json!({ "kind": "group", "name": "Garden", "members": [sam.id] });
    let create = || app.post("/v1/rooms").by(&alex).header("idempotency-key", "k").json(&body);
    let room = create().expect(201).await;
    assert_eq!(create().expect(200).await.body, room.body);
    let expected = json!([{ "user_id": alex.id, "role": "owner" }, { "user_id": sam.id, "role": "member" }]);
    assert_eq!(room.body["members"], expected);
    assert_eq!((&room.body["kind"], &room.body["name"]), (&"group".into(), &"Garden".into()));
    assert_eq!(
        (&room.body["floor"], &room.body["last_read"], &room.body["muted"]),
        (&0.into(), &0.into(), &false.into())
    );
    assert!(room.body["head"].as_u64().unwrap() >= 2, "its members joined: {room:?}");

    let path = format!("/v1/rooms/{}", room.text("id"));
    assert_eq!(app.get(&path).by(&sam).expect(200).await.body["id"], room.body["id"]);
    app.get(&path).by(&robin).refused(404, "not_found").await;
    app.get(&format!("/v1/rooms/{}", RoomId::new())).by(&alex).refused(404, "not_found").await;
    assert_eq!(app.get("/v1/rooms").by(&sam).expect(200).await.each("id"), [room.body["id"].clone()]);
    assert!(app.get("/v1/rooms").by(&robin).expect(200).await.items().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn a_pair_has_one_dm_also_when_both_ask_at_once() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let open = |by, with: &str| {
        app.post("/v1/rooms").by(by).json(&json!({ "kind": "dm", "members": [with] })).send()
    };
    let calls = (0..8).map(|at| if at % 2 == 0 { open(&alex, &sam.id) } else { open(&sam, &alex.id) });
    let answers = futures_util::future::join_all(calls).await;
    let mut ids: Vec<String> = answers.iter().map(|answer| answer.text("id")).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1, "{answers:?}");
    assert_eq!(answers[0].body["name"], Value::Null);
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_room_is_refused() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    for (body, field) in [
        (json!({ "kind": "group" }), "name"),
        (json!({ "kind": "group", "name": "" }), "name"),
        (json!({ "kind": "group", "name": "a\nb" }), "name"),
        (json!({ "kind": "dm", "members": [] }), "members"),
        (json!({ "kind": "dm", "members": [alex.id] }), "members"),
        (json!({ "kind": "dm", "name": "x", "members": [sam.id] }), "name"),
        (json!({ "kind": "club", "name": "x" }), "kind"),
        (json!({ "kind": "group", "name": "x", "members": ["sam"] }), "members[0]"),
        (json!({ "kind": "group", "name": "x", "colour": 1 }), "colour"),
    ] {
        let refused = app.post("/v1/rooms").by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    let nobody = json!({ "kind": "group", "name": "x", "members": [domain::UserId::new()] });
    app.post("/v1/rooms").by(&alex).json(&nobody).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn reading_moves_forward_alone() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let event = app.say(&alex, &room, "hello").await;
    let head = event["seq"].as_u64().unwrap();
    let read = |seq: u64| app.put(&format!("/v1/rooms/{room}/read")).by(&sam).json(&json!({ "seq": seq }));
    assert_eq!(read(head).expect(200).await.body, json!({ "room_id": room, "seq": head }));
    assert_eq!(read(1).expect(200).await.body["seq"], head, "never back");
    let refused = read(head + 1).refused(400, "invalid_field").await;
    assert_eq!(refused.body["field"], "seq");
    let shown = app.get(&format!("/v1/rooms/{room}")).by(&sam).expect(200).await;
    assert_eq!(shown.body["last_read"], head);
    assert_eq!(app.get(&format!("/v1/rooms/{room}")).by(&alex).expect(200).await.body["last_read"], 0);
    for body in [json!({ "seq": -1 }), json!({ "seq": "5" }), json!({ "seq": 1.5 }), json!({})] {
        app.put(&format!("/v1/rooms/{room}/read")).by(&sam).json(&body).refused(400, "invalid_field").await;
    }
    app.stop().await;
}

#[tokio::test]
async fn settings_are_of_the_member_or_by_owners_of_the_room() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let room = app.group(&alex, &[&sam]).await;
    let set = |person, body: Value| app.put(&format!("/v1/rooms/{room}/settings")).by(person).json(&body);
    assert_eq!(set(&sam, json!({ "muted": true })).expect(200).await.body["muted"], true);
    let seen = app.get(&format!("/v1/rooms/{room}")).by(&alex).expect(200).await;
    assert_eq!(seen.body["muted"], false, "of the member alone");
    set(&sam, json!({ "name": "Shed" })).refused(403, "forbidden").await;
    assert_eq!(set(&alex, json!({ "name": "Shed" })).expect(200).await.body["name"], "Shed");
    set(&robin, json!({ "muted": true })).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn typing_is_for_members() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[]).await;
    let path = format!("/v1/rooms/{room}/typing");
    app.post(&path).by(&alex).expect(204).await;
    app.post(&path).by(&alex).expect(204).await;
    app.post(&path).by(&sam).refused(404, "not_found").await;
    app.stop().await;
}
