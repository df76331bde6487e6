//! Who may do what with a task.

use serde_json::json;

use super::{webhook, with};
use crate::app::TestApp;

/// Sam's task in Alex's room: Sam owns the task, Alex the room, Robin is in it, Kim is nowhere.
#[tokio::test]
async fn each_may_what_is_theirs() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let (kim, admin) = (app.person("kim").await, app.admin().await);
    let room = app.group(&alex, &[&sam, &robin]).await;
    let task = app.task(&sam, &room).await.text("id");
    let path = format!("/v1/tasks/{task}");
    let run = app.post(&format!("{path}/run")).by(&sam).expect(202).await.text("id");
    let run = format!("/v1/task-runs/{run}");

    for reader in [&alex, &sam, &robin, &admin] {
        for path in [&path, &run, &format!("{path}/runs")] {
            app.get(path).by(reader).expect(200).await;
        }
    }
    for path in [&path, &run, &format!("{path}/runs"), &format!("/v1/tasks?room_id={room}")] {
        app.get(path).by(&kim).refused(404, "not_found").await;
    }
    // What is the owner's alone.
    let (rename, pause, resume) =
        (json!({ "name": "Wave" }), json!({ "is_active": false }), json!({ "is_active": true }));
    for (person, status, code) in [
        (&alex, 403, "forbidden"),
        (&robin, 403, "forbidden"),
        (&admin, 403, "forbidden"),
        (&kim, 404, "not_found"),
    ] {
        app.patch(&path).by(person).json(&rename).refused(status, code).await;
        app.patch(&path).by(person).json(&resume).refused(status, code).await;
        app.post(&format!("{path}/run")).by(person).refused(status, code).await;
        app.post(&format!("{path}/hook")).by(person).refused(status, code).await;
        app.delete(&format!("{path}/hook")).by(person).refused(status, code).await;
    }
    // What those who look after the room, or the server, may too.
    for (person, status, code) in [(&robin, 403, "forbidden"), (&kim, 404, "not_found")] {
        app.patch(&path).by(person).json(&pause).refused(status, code).await;
        app.post(&format!("{run}/cancel")).by(person).refused(status, code).await;
        app.delete(&path).by(person).refused(status, code).await;
    }
    for person in [&alex, &admin, &sam] {
        let paused = app.patch(&path).by(person).json(&pause).expect(200).await;
        assert_eq!(paused.body["is_active"], false);
        app.patch(&path).by(&sam).json(&resume).expect(200).await;
    }
    for person in [&alex, &admin, &sam] {
        let run = app.post(&format!("{path}/run")).by(&sam).expect(202).await.text("id");
        let cancelled = app.post(&format!("/v1/task-runs/{run}/cancel")).by(person).expect(200).await;
        assert_eq!(cancelled.body["status"], "cancelled");
    }
    for person in [&alex, &admin, &sam] {
        let task = app.task(&sam, &room).await.text("id");
        app.delete(&format!("/v1/tasks/{task}")).by(person).expect(204).await;
        app.get(&format!("/v1/tasks/{task}")).by(&sam).refused(404, "not_found").await;
    }
    app.stop().await;
}

#[tokio::test]
async fn a_task_acts_where_its_owner_is() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (mine, yours) = (app.group(&alex, &[&sam]).await, app.group(&sam, &[]).await);
    let (agent, stranger) = (app.agent(&alex, "builder").await, app.agent(&sam, "painter").await);
    app.invite(&alex, &mine, &agent).await;
    let message = |room: &str| {
        with(webhook(), "action", json!({ "kind": "message", "room_id": room, "body": "Hello" }))
    };
    let ask = |room: &str, agent: &str| {
        with(
            webhook(),
            "action",
            json!({ "kind": "agent_run", "room_id": room, "agent_id": agent, "input": null }),
        )
    };
    app.post("/v1/tasks").by(&alex).json(&message(&yours)).refused(404, "not_found").await;
    app.post("/v1/tasks").by(&alex).json(&ask(&mine, &stranger.id)).refused(404, "not_found").await;
    let made = app.post("/v1/tasks").by(&alex).json(&ask(&mine, &agent.id)).expect(201).await;
    let path = format!("/v1/tasks/{}", made.text("id"));
    let moved = json!({ "action": message(&yours)["action"] });
    app.patch(&path).by(&alex).json(&moved).refused(404, "not_found").await;

    // Who is no longer in the room may pause what they left there, and not resume it.
    let left = app.post("/v1/tasks").by(&sam).json(&message(&mine)).expect(201).await;
    let left = format!("/v1/tasks/{}", left.text("id"));
    app.delete(&format!("/v1/rooms/{mine}/members?user_id={}", sam.id)).by(&alex).expect(204).await;
    app.patch(&left).by(&sam).json(&json!({ "is_active": false })).expect(200).await;
    app.patch(&left).by(&sam).json(&json!({ "is_active": true })).refused(404, "not_found").await;
    app.patch(&left).by(&alex).json(&json!({ "is_active": false })).expect(200).await;
    app.stop().await;
}

#[tokio::test]
async fn work_on_the_server_is_for_administrators() {
    let app = TestApp::start().await;
    let (alex, admin) = (app.person("alex").await, app.admin().await);
    let system = with(webhook(), "action", json!({ "kind": "system", "name": "noop" }));
    app.post("/v1/tasks").by(&alex).json(&system).refused(403, "forbidden").await;
    let made = app.post("/v1/tasks").by(&admin).json(&system).expect(201).await;
    assert_eq!(made.body["webhook_secret"], json!(null));
    app.post(&format!("/v1/tasks/{}/run", made.text("id"))).by(&admin).expect(202).await;
    app.get(&format!("/v1/tasks/{}", made.text("id"))).by(&alex).refused(404, "not_found").await;
    let mine = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await.text("id");
    let change = json!({ "action": system["action"] });
    app.patch(&format!("/v1/tasks/{mine}")).by(&alex).json(&change).refused(403, "forbidden").await;
    app.stop().await;
}
