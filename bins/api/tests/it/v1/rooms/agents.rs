//! Agents as members of rooms.

use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn agents_are_members_by_whatever_way_they_are_named() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (one, two, three) =
        (app.agent(&alex, "one").await, app.agent(&sam, "two").await, app.agent(&sam, "three").await);
    let body = json!({ "kind": "group", "name": "Garden", "members": [one.id, sam.id] });
    let room = app.post("/v1/rooms").by(&alex).json(&body).expect(201).await;
    let path = format!("/v1/rooms/{}", room.text("id"));
    let members = format!("{path}/members");
    let add = |person, body: Value| app.post(&members).by(person).json(&body);
    add(&alex, json!({ "agent_id": two.id })).expect(201).await;
    add(&alex, json!({ "agent_id": two.id })).expect(200).await;
    add(&sam, json!({ "agent_id": three.id })).refused(403, "forbidden").await;
    let all = add(&alex, json!({ "members": [three.id] })).expect(201).await;
    // A call that makes a room adds people before agents.
    let expected = json!([
        { "user_id": alex.id, "role": "owner" },
        { "user_id": sam.id, "role": "member" },
        { "agent_id": one.id, "role": "member" },
        { "agent_id": two.id, "role": "member" },
        { "agent_id": three.id, "role": "member" },
    ]);
    assert_eq!(all.body["members"], expected);
    assert_eq!(app.get(&path).bearer(&two.token).expect(200).await.body["members"], expected);
    let rooms = app.get("/v1/rooms").bearer(&three.token).expect(200).await;
    assert_eq!(rooms.each("id"), [room.body["id"].clone()]);

    for confused in [json!({ "agent_id": sam.id }), json!({ "user_id": one.id })] {
        add(&alex, confused).refused(404, "not_found").await;
    }
    app.delete(&format!("{members}?agent_id={}", one.id)).by(&sam).refused(403, "forbidden").await;
    app.delete(&format!("{members}?agent_id={}", one.id)).by(&alex).expect(204).await;
    app.delete(&members).by(&alex).json(&json!({ "agent_id": two.id })).expect(204).await;
    app.delete(&format!("{members}/{}", three.id)).by(&alex).expect(204).await;
    for gone in [&one, &two, &three] {
        app.get(&path).bearer(&gone.token).refused(404, "not_found").await;
        app.get(&format!("{path}/events")).bearer(&gone.token).refused(404, "not_found").await;
    }
    let left = app.get(&format!("{path}/events?limit=3")).by(&sam).expect(200).await;
    assert_eq!(left.each("kind"), ["member.left"; 3]);
    assert_eq!(left.items()[0]["data"], json!({ "agent_id": one.id }));
    app.stop().await;
}

#[tokio::test]
async fn what_an_agent_can_not_be_is_refused() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (agent, revoked) = (app.agent(&alex, "builder").await, app.agent(&sam, "painter").await);
    app.delete(&format!("/v1/agents/{}", revoked.id)).by(&sam).expect(204).await;
    let dm = json!({ "kind": "dm", "members": [agent.id] });
    app.post("/v1/rooms").by(&alex).json(&dm).refused(409, "conflict").await;
    let room = app.group(&alex, &[]).await;
    let members = format!("/v1/rooms/{room}/members");
    for nobody in [&revoked.id, &domain::AgentId::new().to_string()] {
        app.post(&members).by(&alex).json(&json!({ "agent_id": nobody })).refused(404, "not_found").await;
        let body = json!({ "kind": "group", "name": "Garden", "members": [nobody] });
        app.post("/v1/rooms").by(&alex).json(&body).refused(404, "not_found").await;
    }
    app.stop().await;
}

#[tokio::test]
async fn an_agent_reads_and_writes() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let agent = app.agent(&alex, "builder").await;
    let room = app.group(&alex, &[&sam]).await;
    let path = format!("/v1/rooms/{room}");
    let send = || app.post(&format!("{path}/messages")).bearer(&agent.token);
    send().json(&json!({ "body": "hello" })).refused(404, "not_found").await;
    let add = json!({ "agent_id": agent.id });
    app.post(&format!("{path}/members")).by(&alex).json(&add).expect(201).await;

    let sent = send().json(&json!({ "body": "hello", "nonce": "n" })).expect(201).await;
    assert_eq!(sent.body["event"]["sender"], json!({ "kind": "agent", "id": agent.id }));
    let again = send().header("idempotency-key", "n").json(&json!({ "body": "hello" })).expect(200).await;
    assert_eq!(again.body, sent.body);
    let said = app.say(&sam, &room, "good morning").await;
    let own = format!("{path}/messages/{}", sent.body["event"]["id"].as_str().unwrap());
    let other = format!("{path}/messages/{}", said["id"].as_str().unwrap());
    let body = json!({ "body": "changed" });
    app.patch(&own).bearer(&agent.token).json(&body).expect(200).await;
    app.patch(&own).by(&alex).json(&body).refused(403, "forbidden").await;
    app.patch(&other).bearer(&agent.token).json(&body).refused(403, "forbidden").await;
    app.delete(&other).bearer(&agent.token).refused(403, "forbidden").await;
    for _ in 0..2 {
        app.put(&format!("{other}/reactions/x")).bearer(&agent.token).expect(204).await;
    }
    app.delete(&format!("{other}/reactions/x")).bearer(&agent.token).expect(204).await;
    app.delete(&own).bearer(&agent.token).expect(204).await;

    let events = app.get(&format!("{path}/events?after=3")).bearer(&agent.token).expect(200).await;
    let kinds = [
        "message.created",
        "message.created",
        "message.edited",
        "reaction.added",
        "reaction.removed",
        "message.deleted",
    ];
    assert_eq!(events.each("kind"), kinds);
    assert_eq!(app.get(&format!("{path}/events?after=3")).by(&sam).expect(200).await.body, events.body);
    app.stop().await;
}

#[tokio::test]
async fn agents_that_are_mentioned_are_named_beside_people() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (inside, outside) = (app.agent(&alex, "inside").await, app.agent(&alex, "outside").await);
    let room = app.group(&alex, &[&sam]).await;
    let add = json!({ "agent_id": inside.id });
    app.post(&format!("/v1/rooms/{room}/members")).by(&alex).json(&add).expect(201).await;
    let body = format!("@{}, ask @{} and @{}", sam.handle, inside.handle, outside.handle);
    let said = app.say(&alex, &room, &body).await;
    assert_eq!(said["data"]["mentions"], json!([sam.id]));
    assert_eq!(said["data"]["agents"], json!([inside.id]));
    let path = format!("/v1/rooms/{room}/messages/{}", said["id"].as_str().unwrap());
    let edited = app.patch(&path).by(&alex).json(&json!({ "body": "@nobody" })).expect(200).await;
    assert_eq!(edited.body["event"]["data"]["mentions"], json!([]));
    let plain = app.say(&alex, &room, "nobody").await;
    for data in [&edited.body["event"]["data"], &plain["data"]] {
        assert!(data.get("agents").is_none(), "{data}");
    }
    app.stop().await;
}
