//! `/v1/tool-calls`.

use domain::ToolCallId;
use domain::run::FinishStatus;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::work::Work;

async fn call(app: &TestApp, work: &Work) -> Value {
    let path = format!("/v1/runs/{}/tool-calls", work.run);
    app.post(&path).bearer(&work.agent.token).json(&work.call()).expect(201).await.body
}

fn path(call: &Value) -> String {
    format!("/v1/tool-calls/{}", call["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_call_is_seen_by_who_made_it_and_who_is_asked() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let other = app.agent(&work.alex, "other").await;
    app.invite(&work.alex, &work.room, &other).await;
    let call = call(&app, &work).await;
    assert_eq!(app.get(&path(&call)).by(&work.alex).expect(200).await.body, call);
    assert_eq!(app.get(&path(&call)).bearer(&work.agent.token).expect(200).await.body, call);
    app.get(&path(&call)).by(&work.sam).refused(404, "not_found").await;
    app.get(&path(&call)).bearer(&other.token).refused(404, "not_found").await;
    app.get(&format!("/v1/tool-calls/{}", ToolCallId::new())).by(&work.alex).refused(404, "not_found").await;

    assert_eq!(app.get("/v1/tool-calls?status=pending").by(&work.alex).expect(200).await.items(), [call]);
    assert!(app.get("/v1/tool-calls").by(&work.sam).expect(200).await.items().is_empty());
    app.get("/v1/tool-calls").bearer(&work.agent.token).refused(403, "forbidden").await;
    for (query, field) in [("status=answered", "status"), ("status=", "status"), ("run_id=1", "run_id")] {
        let refused =
            app.get(&format!("/v1/tool-calls?{query}")).by(&work.alex).refused(400, "invalid_field");
        assert_eq!(refused.await.body["field"], field, "{query}");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_first_answer_of_the_one_who_is_asked_counts() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let call = call(&app, &work).await;
    let result = format!("{}/result", path(&call));
    let forged = json!({ "result": "poison" });
    app.post(&result).by(&work.sam).json(&forged).refused(403, "forbidden").await;
    app.post(&result).bearer(&work.agent.token).json(&forged).refused(403, "forbidden").await;
    assert_eq!(app.get(&path(&call)).by(&work.alex).expect(200).await.body, call);

    let raw = r#"{"result": {"b": 1.50,  "a" :[ ]}}"#;
    let json_type = |call: crate::call::Call| call.header("content-type", "application/json");
    let answered = json_type(app.post(&result).by(&work.alex)).text(raw).expect(200).await;
    assert_eq!(answered.body["status"], "answered");
    assert!(answered.raw.contains(r#""result":{"b": 1.50,  "a" :[ ]},"#), "{}", answered.raw);
    app.post(&result).by(&work.alex).json(&json!({ "error": "late" })).refused(409, "conflict").await;
    app.post(&result).by(&work.sam).json(&forged).refused(403, "forbidden").await;
    let stands = app.get(&path(&call)).bearer(&work.agent.token).expect(200).await;
    assert_eq!(stands.raw, answered.raw);
    assert!(app.get("/v1/tool-calls").by(&work.alex).expect(200).await.items().is_empty());
    let run = app.get(&format!("/v1/runs/{}", work.run)).by(&work.alex).expect(200).await;
    assert_eq!(run.body["status"], "running");
    app.stop().await;
}

#[tokio::test]
async fn of_many_answers_at_once_one_counts() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let call = call(&app, &work).await;
    let result = format!("{}/result", path(&call));
    let answers = (0..12).map(|at| app.post(&result).by(&work.alex).json(&json!({ "result": at })).send());
    let answers = futures_util::future::join_all(answers).await;
    let counted: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(counted.len(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 11, "{answers:?}");
    assert_eq!(app.get(&path(&call)).by(&work.alex).expect(200).await.body, counted[0].body);
    app.stop().await;
}

#[tokio::test]
async fn what_went_wrong_is_an_answer_and_what_is_none_is_refused() {
    let app = TestApp::with(|settings| settings.tools.max_result_bytes = 100).await;
    let work = app.at_work().await;
    let call = call(&app, &work).await;
    let result = format!("{}/result", path(&call));
    for (body, field) in [
        (json!({}), "result"),
        (json!({ "error": null }), "result"),
        (json!({ "result": 1, "error": "x" }), "error"),
        (json!({ "result": null, "error": "x" }), "error"),
        (json!({ "error": 1 }), "error"),
        (json!({ "result": "x".repeat(99) }), "result"),
        (json!({ "error": "x".repeat(101) }), "error"),
        (json!({ "result": "\u{0}" }), "result"),
        (json!({ "result": 1, "status": "answered" }), "status"),
    ] {
        let refused = app.post(&result).by(&work.alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    let answered = app.post(&result).by(&work.alex).json(&json!({ "error": "no page" })).expect(200).await;
    assert_eq!((&answered.body["error"], &answered.body["result"]), (&"no page".into(), &Value::Null));
    assert_eq!(answered.body["status"], "answered");
    let nobody = format!("/v1/tool-calls/{}/result", ToolCallId::new());
    app.post(&nobody).by(&work.alex).json(&json!({ "result": 1 })).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn a_call_ends_with_its_run() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let call = call(&app, &work).await;
    work.finish(FinishStatus::Succeeded).await;
    assert_eq!(app.get(&path(&call)).by(&work.alex).expect(200).await.body["status"], "cancelled");
    let result = format!("{}/result", path(&call));
    app.post(&result).by(&work.alex).json(&json!({ "result": 1 })).refused(409, "conflict").await;
    app.stop().await;
}
