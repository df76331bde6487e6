//! `/v1/runs/{id}/tool-calls`.

use std::time::Duration;

use domain::run::FinishStatus;
use domain::{RunId, UserId};
use node::settings::ClusterMode;
use serde_json::{Value, json};

use crate::app::{Person, Shared, TestApp};

fn path(run: &str) -> String {
    format!("/v1/runs/{run}/tool-calls")
}

/// The call that waits for a person, once there is one.
async fn called(app: &TestApp, person: &Person) -> Value {
    let asking = async {
        loop {
            let pending = app.get("/v1/tool-calls?status=pending").by(person).expect(200).await;
            if let Some(call) = pending.items().first() {
                return call.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asking).await.expect("a call")
}

/// Answers a call, at this node.
async fn answer(app: &TestApp, person: &Person, call: &Value, result: Value) {
    let path = format!("/v1/tool-calls/{}/result", call["id"].as_str().unwrap());
    app.post(&path).by(person).json(&json!({ "result": result })).expect(200).await;
}

#[tokio::test]
async fn a_call_is_made_once_for_each_nonce() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let mut body = work.call();
    (body["timeout"], body["nonce"]) = (90.into(), "c-1".into());
    let call = || app.post(&path(&work.run)).bearer(&work.agent.token).json(&body);
    let made = call().expect(201).await;
    let expected = json!({
        "id": made.body["id"], "call_id": made.body["id"], "run_id": work.run, "room_id": work.room,
        "agent_id": work.agent.id, "user_id": work.alex.id, "tool": "open_page",
        "args": { "url": "https://example.com/menu" }, "status": "pending",
        "deadline": made.body["deadline"], "result": null, "error": null,
    });
    assert_eq!(made.body, expected);
    let deadline: jiff::Timestamp = made.text("deadline").parse().unwrap();
    let left = deadline.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((60..=91).contains(&left), "{left}");
    assert_eq!(call().expect(200).await.body, made.body);
    let mut by_header = work.call();
    by_header["timeout"] = "1m".into();
    let again = app.post(&path(&work.run)).bearer(&work.agent.token).header("idempotency-key", "c-1");
    assert_eq!(again.json(&by_header).expect(200).await.body, made.body);
    let run = app.get(&format!("/v1/runs/{}", work.run)).by(&work.sam).expect(200).await;
    assert_eq!((&run.body["status"], &run.body["reason"]), (&"waiting".into(), &"tool_call".into()));
    app.stop().await;
}

#[tokio::test]
async fn only_the_agent_of_a_run_that_is_worked_on_calls() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let robin = app.person("robin").await;
    let other = app.agent(&work.alex, "other").await;
    app.invite(&work.alex, &work.room, &other).await;
    let call = |run: &str| app.post(&path(run)).json(&work.call());
    for person in [&work.alex, &work.sam, &robin] {
        call(&work.run).by(person).refused(403, "forbidden").await;
    }
    call(&work.run).bearer(&other.token).refused(404, "not_found").await;
    call(&RunId::new().to_string()).bearer(&work.agent.token).refused(404, "not_found").await;
    for nobody in [robin.id.as_str(), &work.agent.id, &UserId::new().to_string()] {
        let mut body = work.call();
        body["user_id"] = nobody.into();
        let call = app.post(&path(&work.run)).bearer(&work.agent.token).json(&body);
        call.refused(404, "not_found").await;
    }
    let queued = app.ask(&work.sam, &work.room, &work.agent).await;
    call(&queued).bearer(&work.agent.token).refused(409, "conflict").await;
    work.finish(FinishStatus::Succeeded).await;
    call(&work.run).bearer(&work.agent.token).refused(409, "conflict").await;
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_call_is_refused() {
    let app = TestApp::with(|settings| settings.tools.max_args_bytes = 100).await;
    let work = app.at_work().await;
    let changed = |field: &str, value: Value| {
        let mut body = work.call();
        body[field] = value;
        body
    };
    let without = |field: &str| {
        let mut body = work.call();
        body.as_object_mut().unwrap().remove(field);
        body
    };
    for (body, field) in [
        (without("tool"), "tool"),
        (without("args"), "args"),
        (without("user_id"), "user_id"),
        (changed("tool", "".into()), "tool"),
        (changed("tool", "a\nb".into()), "tool"),
        (changed("tool", "x".repeat(81).into()), "tool"),
        (changed("args", "x".repeat(99).into()), "args"),
        (changed("args", json!({ "a": "\u{0}" })), "args.a"),
        (changed("user_id", "alex".into()), "user_id"),
        (changed("timeout", 0.into()), "timeout"),
        (changed("timeout", (-1).into()), "timeout"),
        (changed("timeout", "2 weeks".into()), "timeout"),
        (changed("timeout", "2h".into()), "timeout"),
        (changed("nonce", "a b".into()), "nonce"),
        (changed("epoch", 1.into()), "epoch"),
    ] {
        let call = app.post(&path(&work.run)).bearer(&work.agent.token).json(&body);
        assert_eq!(call.refused(400, "invalid_field").await.body["field"], field, "{body}");
    }
    for wait in ["61", "-1", "soon", ""] {
        let call = app.post(&format!("{}?wait={wait}", path(&work.run))).bearer(&work.agent.token);
        let refused = call.json(&work.call()).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], "wait", "{wait}");
    }
    assert!(app.get("/v1/tool-calls").by(&work.alex).expect(200).await.items().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn who_waits_gets_the_result_as_soon_as_it_is_there() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let call = app.post(&format!("{}?wait=60s", path(&work.run))).bearer(&work.agent.token);
    let waiting = call.json(&work.call()).expect(201);
    let answering = async {
        let call = called(&app, &work.alex).await;
        answer(&app, &work.alex, &call, json!({ "title": "Menu" })).await;
        call
    };
    let (answered, call) = tokio::join!(waiting, answering);
    assert_eq!((&answered.body["id"], &answered.body["status"]), (&call["id"], &"answered".into()));
    assert_eq!(answered.body["result"], json!({ "title": "Menu" }));
    app.stop().await;
}

#[tokio::test]
async fn the_result_comes_from_whichever_node_it_arrives_at() {
    let shared = Shared::new().await;
    let mut settings = shared.settings();
    settings.cluster.mode = ClusterMode::Multi;
    let (here, there) = (shared.start(&settings).await, shared.start(&settings).await);
    let work = here.at_work().await;
    for result in [json!("first"), Value::Null] {
        let call = here.post(&format!("{}?wait=60", path(&work.run))).bearer(&work.agent.token);
        let waiting = call.json(&work.call()).expect(201);
        let answering = async {
            let call = called(&there, &work.alex).await;
            answer(&there, &work.alex, &call, result.clone()).await;
        };
        let (answered, ()) = tokio::join!(waiting, answering);
        assert_eq!((&answered.body["status"], &answered.body["result"]), (&"answered".into(), &result));
    }
    for node in [here, there] {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_wait_may_be_longer_than_requests_may_take_and_ends() {
    let app = TestApp::with(|settings| settings.http.request_timeout = Duration::from_millis(700)).await;
    let work = app.at_work().await;
    let began = std::time::Instant::now();
    let call = app.post(&format!("{}?wait=1500ms", path(&work.run))).bearer(&work.agent.token);
    let pending = call.json(&work.call()).expect(201).await;
    assert_eq!(pending.body["status"], "pending");
    assert!(began.elapsed() >= Duration::from_millis(1500), "{:?}", began.elapsed());
    app.stop().await;
}

#[tokio::test]
async fn a_call_whose_run_ends_is_waited_for_no_longer() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let call = app.post(&format!("{}?wait=60", path(&work.run))).bearer(&work.agent.token);
    let waiting = call.json(&work.call()).expect(201);
    let ending = async {
        called(&app, &work.alex).await;
        work.finish(FinishStatus::Failed).await;
        std::time::Instant::now()
    };
    let (cancelled, ended) = tokio::join!(waiting, ending);
    assert_eq!(cancelled.body["status"], "cancelled");
    // Told, not found by looking from time to time.
    assert!(ended.elapsed() < Duration::from_secs(1), "{:?}", ended.elapsed());
    app.stop().await;
}

#[tokio::test]
async fn a_node_that_stops_does_not_keep_those_who_wait() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let call = app.post(&format!("{}?wait=60", path(&work.run))).bearer(&work.agent.token);
    let waiting = tokio::spawn(call.json(&work.call()).expect(201));
    called(&app, &work.alex).await;
    let began = std::time::Instant::now();
    app.stop().await;
    assert_eq!(waiting.await.unwrap().body["status"], "pending");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
