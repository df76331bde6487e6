//! `/v1/runs`.

mod tool_calls;

use domain::RunId;
use domain::run::FinishStatus;
use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn the_document_comes_with_its_version() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let path = format!("/v1/runs/{}", work.run);
    let started = app.get(&path).by(&work.sam).expect(200).await;
    assert_eq!((&started.body["status"], &started.body["epoch"]), (&"running".into(), &work.epoch.into()));
    assert_eq!((&started.body["attempts"], &started.body["doc"]), (&1.into(), &json!({ "items": [] })));
    assert!(started.body["started_at"].is_string() && started.body["finished_at"].is_null());
    let item = json!({ "id": "a", "type": "text", "text": "Soup." });
    let ops = json!([{ "op": "add", "path": "/items/-", "value": item }]);
    work.consumer.patch(&work.run, work.epoch, &ops).await;
    work.consumer.finish(&work.run, work.epoch, FinishStatus::Failed, Some("out of soup")).await;
    let ended = app.get(&path).by(&work.sam).expect(200).await;
    assert_eq!((&ended.body["status"], &ended.body["error"]), (&"failed".into(), &"out of soup".into()));
    assert_eq!(ended.body["doc"], json!({ "items": [item] }));
    assert!(ended.body["version"].as_u64() > started.body["version"].as_u64(), "{ended:?}");
    assert!(ended.body["finished_at"].is_string());
    assert_eq!(app.get(&path).bearer(&work.agent.token).expect(200).await.body, ended.body);
    let listed = app.get(&format!("/v1/rooms/{}/runs", work.room)).by(&work.alex).expect(200).await;
    assert_eq!(listed.items(), [ended.body]);
    app.stop().await;
}

#[tokio::test]
async fn a_run_that_is_not_there_is_not_found() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    for (method, path) in [(axum::http::Method::GET, ""), (axum::http::Method::POST, "/cancel")] {
        let call = |id: &str| app.call(method.clone(), &format!("/v1/runs/{id}{path}")).by(&alex);
        call(&RunId::new().to_string()).refused(404, "not_found").await;
        let refused = call("junk").refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], "id");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_run_is_cancelled_by_those_whose_it_is() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let (room, agent) = app.group_with_agent(&alex, &[&sam, &robin]).await;
    let other = app.agent(&robin, "other").await;
    app.invite(&alex, &room, &other).await;
    let outsider = app.person("outsider").await;
    let cancel = |run: &str| app.post(&format!("/v1/runs/{run}/cancel"));
    let stands = |answer: &Value| (answer["status"].clone(), answer["reason"].clone());

    let of_sam = app.ask(&sam, &room, &agent).await;
    cancel(&of_sam).by(&outsider).refused(404, "not_found").await;
    cancel(&of_sam).by(&robin).refused(403, "forbidden").await;
    cancel(&of_sam).bearer(&other.token).refused(403, "forbidden").await;
    for _ in 0..2 {
        let cancelled = cancel(&of_sam).by(&sam).expect(200).await;
        assert_eq!(stands(&cancelled.body), ("cancelled".into(), "cancelled".into()));
        assert!(cancelled.body["finished_at"].is_string());
    }
    let of_sam = app.ask(&sam, &room, &agent).await;
    cancel(&of_sam).by(&alex).expect(200).await;
    let of_sam = app.ask(&sam, &room, &agent).await;
    assert_eq!(cancel(&of_sam).bearer(&agent.token).expect(200).await.body["status"], "cancelled");
    app.stop().await;
}

#[tokio::test]
async fn one_that_is_worked_on_is_asked_to_stop() {
    let app = TestApp::start().await;
    let work = app.at_work().await;
    let path = format!("/v1/runs/{}/cancel", work.run);
    for _ in 0..2 {
        let asked = app.post(&path).by(&work.alex).expect(200).await;
        assert_eq!(
            (&asked.body["status"], &asked.body["cancel_requested"]),
            (&"running".into(), &true.into())
        );
    }
    work.finish(FinishStatus::Succeeded).await;
    let over = app.post(&path).by(&work.alex).expect(200).await;
    assert_eq!((&over.body["status"], &over.body["cancel_requested"]), (&"cancelled".into(), &false.into()));

    let next = app.ask(&work.alex, &work.room, &work.agent).await;
    let epoch = work.consumer.start(&next).await;
    work.consumer.finish(&next, epoch, FinishStatus::Succeeded, None).await;
    app.post(&format!("/v1/runs/{next}/cancel")).by(&work.alex).refused(409, "conflict").await;
    app.stop().await;
}
