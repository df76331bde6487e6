//! `/v1/notifications`.

use std::time::Duration;

use domain::notification::Reason;
use domain::{EventKind, NodeId, NotificationId};
use serde_json::{Value, json};
use store::push::{Decided, Outcome};
use uuid::Uuid;

use crate::app::{Person, TestApp};
use crate::call::Answer;

mod preferences;

const PATH: &str = "/v1/notifications";

impl TestApp {
    async fn notifications(&self, person: &Person) -> Answer {
        self.get(PATH).by(person).expect(200).await
    }

    async fn dm(&self, person: &Person, other: &Person) -> String {
        let body = json!({ "kind": "dm", "members": [other.id] });
        self.post("/v1/rooms").by(person).json(&body).expect(201).await.text("id")
    }
}

#[tokio::test]
async fn what_is_written_to_somebody_is_listed_newest_first() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let dm = app.dm(&alex, &sam).await;
    app.say(&alex, &room, "Nobody in particular").await;
    let mention = app.say(&alex, &room, &format!("Soup, @{}?", sam.handle)).await;
    let message = app.say(&alex, &dm, "Or salad?").await;

    let listed = app.notifications(&sam).await;
    assert_eq!(listed.body["unread"], json!({ "total": 2, "rooms": by_room(&[(&room, 1), (&dm, 1)]) }));
    let [newest, oldest] = listed.items() else { panic!("{listed:#?}") };
    let sender = json!({ "kind": "user", "id": alex.id });
    for (item, kind, room, event, title, body) in [
        (newest, "direct_message", &dm, &message, "alex", "Or salad?"),
        (oldest, "mention", &room, &mention, "alex in Garden", &*format!("Soup, @{}?", sam.handle)),
    ] {
        let expected = json!({
            "id": item["id"], "kind": kind, "room_id": room, "seq": event["seq"], "source_id": event["id"],
            "sender": sender, "sender_name": "alex", "title": title, "body": body,
            "created_at": item["created_at"], "read": false, "decision": null,
        });
        assert_eq!(item, &expected);
        let at: jiff::Timestamp = item["created_at"].as_str().unwrap().parse().unwrap();
        assert!(jiff::Timestamp::now().duration_since(at).as_secs().abs() < 60);
    }
    let none = json!({ "items": [], "next": null, "unread": { "total": 0, "rooms": [] } });
    assert_eq!(app.notifications(&alex).await.body, none);

    let first = app.get(&format!("{PATH}?limit=1")).by(&sam).expect(200).await;
    assert_eq!(first.items(), std::slice::from_ref(newest));
    let next = first.text("next");
    let last = app.get(&format!("{PATH}?limit=1&cursor={next}")).by(&sam).expect(200).await;
    assert_eq!((last.items(), &last.body["next"]), (std::slice::from_ref(oldest), &Value::Null));
    app.stop().await;
}

#[tokio::test]
async fn what_is_read_is_read_on_every_device() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (room, dm) = (app.group(&alex, &[&sam]).await, app.dm(&alex, &sam).await);
    let mention = format!("@{}", sam.handle);
    for (room, body) in [
        (&room, &*mention),
        (&room, &*mention),
        (&dm, "One"),
        (&dm, "Two"),
        (&dm, "Three"),
        (&room, &*mention),
    ] {
        app.say(&alex, room, body).await;
    }
    let ids = app.notifications(&sam).await.each("id");
    let read = |body: Value| app.post("/v1/notifications/read").by(&sam).json(&body).expect(200);
    let left = |rooms: &[(&str, u64)]| {
        let total: u64 = rooms.iter().map(|(_, count)| count).sum();
        json!({ "unread": { "total": total, "rooms": by_room(rooms) } })
    };

    // By name; what is not there, and what is somebody else's, is passed over.
    let named = read(json!({ "ids": [ids[5], NotificationId::new()] })).await;
    assert_eq!(named.body, left(&[(&room, 2), (&dm, 3)]));
    app.post("/v1/notifications/read").by(&alex).json(&json!({ "ids": [ids[4]] })).expect(200).await;
    // Of a room up to one: what came after it was not seen.
    assert_eq!(read(json!({ "room_id": dm, "up_to": ids[2] })).await.body, left(&[(&room, 2), (&dm, 1)]));
    // Of all rooms up to one.
    assert_eq!(read(json!({ "up_to": ids[4] })).await.body, left(&[(&room, 1), (&dm, 1)]));
    assert_eq!(read(json!({ "room_id": dm })).await.body, left(&[(&room, 1)]));
    let unread = app.get(&format!("{PATH}?unread=true")).by(&sam).expect(200).await;
    assert_eq!(unread.each("id"), [ids[0].clone()]);
    assert_eq!(app.notifications(&sam).await.each("read"), [false, true, true, true, true, true]);
    assert_eq!(read(json!({})).await.body, left(&[]));
    assert_eq!(app.get(&format!("{PATH}?unread=false")).by(&sam).expect(200).await.items().len(), 6);

    // Who reads the room has read what it says of it.
    app.say(&alex, &dm, "Four").await;
    let head = app.get(&format!("/v1/rooms/{dm}")).by(&sam).expect(200).await.body["head"].clone();
    app.put(&format!("/v1/rooms/{dm}/read")).by(&sam).json(&json!({ "seq": head })).expect(200).await;
    assert_eq!(app.notifications(&sam).await.body["unread"]["total"], 0);
    app.stop().await;
}

#[tokio::test]
async fn there_is_one_way_to_say_what_is_read() {
    let app = TestApp::start().await;
    let sam = app.person("sam").await;
    let id = NotificationId::new();
    for (body, field, says) in [
        (json!({ "ids": [id], "room_id": id }), "ids", "can't stand beside"),
        (json!({ "ids": [id], "up_to": id }), "ids", "can't stand beside"),
        (json!({ "ids": [] }), "ids", "1 to 500"),
        (json!({ "ids": null }), "ids", "null"),
        (json!({ "room_id": null }), "room_id", "null"),
        (json!({ "up_to": null }), "up_to", "null"),
        (json!({ "ids": vec![id; 501] }), "ids", "1 to 500"),
        (json!({ "ids": ["x"] }), "ids[0]", "UUID"),
        (json!({ "up_to": 5 }), "up_to", "UUID"),
        (json!({ "all": true }), "all", "is unknown"),
    ] {
        let refused =
            app.post("/v1/notifications/read").by(&sam).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{}", refused.raw);
        assert!(refused.text("detail").contains(says), "{}", refused.raw);
    }
    for (query, field) in [("unread=1", "unread"), ("limit=0", "limit"), ("cursor=x", "cursor"), ("x=1", "x")]
    {
        let refused = app.get(&format!("{PATH}?{query}")).by(&sam).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{}", refused.raw);
    }
    let agent = app.agent(&sam, "helper").await;
    app.get(PATH).bearer(&agent.token).refused(403, "forbidden").await;
    app.stop().await;
}

#[tokio::test]
async fn nothing_is_told_of_what_was_deleted_and_of_rooms_that_were_left() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[&sam]).await;
    let mention = |text: &str| format!("{text}, @{}", sam.handle);
    let deleted = app.say(&alex, &room, &mention("Topsecret")).await;
    let edited = app.say(&alex, &room, &mention("Soup")).await;
    let ids = app.notifications(&sam).await.each("id");

    let path = |event: &Value| format!("/v1/rooms/{room}/messages/{}", event["id"].as_str().unwrap());
    app.delete(&path(&deleted)).by(&alex).expect(204).await;
    app.patch(&path(&edited)).by(&alex).json(&json!({ "body": mention("Salad") })).expect(200).await;
    let listed = app.notifications(&sam).await;
    assert_eq!(
        (listed.each("id"), listed.each("body")),
        (vec![ids[0].clone()], vec![mention("Salad").into()])
    );
    let withdrawn = app.get(&trace(&ids[1])).by(&sam).expect(200).await;
    assert_eq!(withdrawn.body["notification"]["body"], "");
    assert!(!withdrawn.raw.contains("Topsecret"), "{}", withdrawn.raw);

    app.delete(&format!("/v1/rooms/{room}/members?user_id={}", sam.id)).by(&sam).expect(204).await;
    app.put(&format!("/v1/rooms/{room}/settings"))
        .by(&alex)
        .json(&json!({ "name": "Topsecret" }))
        .expect(200)
        .await;
    let left = app.notifications(&sam).await;
    assert_eq!((&left.items()[0]["title"], &left.items()[0]["body"]), (&"alex".into(), &"".into()));
    assert!(!left.raw.contains("Salad") && !left.raw.contains("Topsecret"), "{}", left.raw);
    app.stop().await;
}

#[tokio::test]
async fn a_trace_tells_its_person_alone_what_became_of_it() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let dm = app.dm(&alex, &sam).await;
    app.say(&alex, &dm, "Soup?").await;
    let id = app.notifications(&sam).await.each("id")[0].clone();
    let fresh = app.get(&trace(&id)).by(&sam).expect(200).await;
    assert_eq!((&fresh.body["notification"]["title"], &fresh.body["steps"]), (&"alex".into(), &json!([])));

    let (claim, node) = (Uuid::now_v7(), NodeId::new());
    let claimed = app.store.claim_undecided(claim, Duration::from_secs(30), 10).await.unwrap();
    let notification = claimed[0].notification.id;
    let outcome = Outcome::Over(Reason::Focused);
    let decided = Decided { notification, waited: false, outcome };
    assert_eq!(app.store.decide(claim, node, &[decided]).await.unwrap(), [notification]);

    let traced = app.get(&trace(&id)).by(&sam).expect(200).await;
    assert_eq!(traced.body["notification"]["decision"], "focused");
    let at = &traced.body["steps"][0]["at"];
    let step = json!({ "at": at, "step": "decided", "reason": "focused", "node_id": node,
        "device_id": null, "detail": null });
    assert_eq!(traced.body["steps"], json!([step]));
    at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();

    app.get(&trace(&id)).by(&alex).refused(404, "not_found").await;
    app.get(&trace(&json!(NotificationId::new()))).by(&sam).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn the_end_of_a_run_is_told_to_who_asked_for_it() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    work.finish(domain::run::FinishStatus::Succeeded).await;
    let listed = app.notifications(&work.alex).await;
    let [item] = listed.items() else { panic!("{listed:#?}") };
    assert_eq!((&item["kind"], &item["body"]), (&"run_finished".into(), &"Is done".into()));
    assert_eq!((&item["source_id"], &item["sender"]["kind"]), (&work.run.clone().into(), &"agent".into()));
    let seq = item["seq"].as_u64().unwrap();
    let path = format!("/v1/rooms/{}/events?after={}&limit=1", work.room, seq - 1);
    let events = app.get(&path).by(&work.alex).expect(200).await;
    assert_eq!(events.each("kind"), [EventKind::RunFinished.as_str()]);
    assert!(app.notifications(&work.sam).await.items().is_empty());
    app.stop().await;
}

fn trace(id: &Value) -> String {
    format!("{PATH}/{}/trace", id.as_str().unwrap())
}

/// As it is answered: by the id of the room.
fn by_room(rooms: &[(&str, u64)]) -> Value {
    let mut rooms = rooms.to_vec();
    rooms.sort_unstable();
    rooms.into_iter().map(|(room, count)| json!({ "room_id": room, "count": count })).collect()
}
