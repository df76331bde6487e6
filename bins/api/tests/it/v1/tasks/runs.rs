//! `/v1/tasks/{id}/run`, `/v1/tasks/{id}/runs` and `/v1/task-runs/{id}`. No worker is there: what is queued stays queued.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::task::RunEnd;
use domain::{NodeId, TaskRunId, WorkerSessionId};
use futures_util::FutureExt as _;
use node::settings::ClusterMode;
use serde_json::json;
use store::queue::{FinishedRun, Next, Work};

use super::{webhook, with};
use crate::app::TestApp;

#[tokio::test]
async fn a_run_is_queued_now_and_once_for_each_key() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let task =
        app.post("/v1/tasks").by(&alex).json(&with(webhook(), "is_active", json!(false))).expect(201).await;
    let path = format!("/v1/tasks/{}", task.text("id"));
    let queue = || app.post(&format!("{path}/run")).by(&alex).header("idempotency-key", "k");
    let first = queue().expect(202).await;
    let fields: BTreeSet<&str> = first.body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "id",
        "task_id",
        "status",
        "reason",
        "trigger",
        "scheduled_for",
        "due_at",
        "attempt",
        "epoch",
        "node_id",
        "lease_expires_at",
        "delivery_id",
        "cancel_requested",
        "error",
        "output",
        "created_at",
        "started_at",
        "finished_at",
    ];
    assert_eq!(fields, BTreeSet::from(expected));
    let shown = |field: &str| first.body[field].clone();
    assert_eq!(
        (shown("task_id"), shown("status"), shown("reason")),
        (task.body["id"].clone(), json!("queued"), json!("in_line"))
    );
    assert_eq!(
        (shown("trigger"), shown("delivery_id"), shown("attempt")),
        (json!("manual"), json!("k"), json!(1))
    );
    assert_eq!((shown("epoch"), shown("started_at"), shown("node_id")), (json!(0), json!(null), json!(null)));

    let again = futures_util::future::join_all((0..5).map(|_| queue().expect(200))).await;
    assert!(again.iter().all(|answer| answer.body["id"] == first.body["id"]), "{again:?}");
    let second = app.post(&format!("{path}/run")).by(&alex).expect(202).await;
    assert_eq!((&second.body["reason"], &second.body["delivery_id"]), (&json!("task_busy"), &json!(null)));
    let listed = app.get(&format!("{path}/runs")).by(&alex).expect(200).await;
    assert_eq!(listed.each("id"), [second.body["id"].clone(), first.body["id"].clone()]);
    let page = app.get(&format!("{path}/runs?limit=1")).by(&alex).expect(200).await;
    assert_eq!(page.each("id"), [second.body["id"].clone()]);
    let next =
        app.get(&format!("{path}/runs?limit=1&cursor={}", page.text("next"))).by(&alex).expect(200).await;
    assert_eq!((next.each("id"), &next.body["next"]), (vec![first.body["id"].clone()], &json!(null)));
    assert_eq!(
        app.get(&format!("/v1/task-runs/{}", first.text("id"))).by(&alex).expect(200).await.body,
        first.body
    );
    app.get(&format!("/v1/task-runs/{}", TaskRunId::new())).by(&alex).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn so_many_may_wait_and_those_that_are_stopped_make_room() {
    let app = TestApp::with(|settings| settings.tasks.max_queued = 2).await;
    let alex = app.person("alex").await;
    let task = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await.text("id");
    let run = format!("/v1/tasks/{task}/run");
    let ready = app.post(&run).by(&alex).expect(202).await;
    app.post(&run).by(&alex).expect(202).await;
    let full = app.post(&run).by(&alex).refused(409, "conflict").await;
    assert!(full.text("detail").contains("queued"), "{}", full.raw);
    let cancel = format!("/v1/task-runs/{}/cancel", ready.text("id"));
    let cancelled = app.post(&cancel).by(&alex).expect(200).await;
    assert_eq!((&cancelled.body["status"], &cancelled.body["reason"]), (&json!("cancelled"), &json!(null)));
    assert!(cancelled.body["finished_at"].is_string() && cancelled.body["due_at"].is_null());
    assert_eq!(app.post(&cancel).by(&alex).expect(200).await.body, cancelled.body, "it stays so");
    // The next one was let forward.
    app.post(&run).by(&alex).expect(202).await;
    let read = app.get(&format!("/v1/tasks/{task}")).by(&alex).expect(200).await;
    assert_eq!(read.body["run_count"], 1);
    app.stop().await;
}

#[tokio::test]
async fn a_run_that_a_worker_has_is_asked_to_stop_and_one_that_is_over_stays() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let task = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await.text("id");
    let run = app.post(&format!("/v1/tasks/{task}/run")).by(&alex).expect(202).await.text("id");
    let (session, node) = (WorkerSessionId::new(), NodeId::new());
    app.store.open_worker(session, node, Duration::from_secs(60)).await.unwrap();
    let claimed =
        app.store.work(session, Work { finished: &[], budget: 10, floor: 0 }).await.unwrap().claimed;
    assert_eq!((claimed.len(), claimed[0].id.to_string()), (1, run.clone()));

    let (path, cancel) = (format!("/v1/task-runs/{run}"), format!("/v1/task-runs/{run}/cancel"));
    let running = app.get(&path).by(&alex).expect(200).await.body;
    assert_eq!(
        (&running["status"], &running["node_id"], &running["epoch"]),
        (&json!("running"), &json!(node), &json!(1))
    );
    assert!(running["lease_expires_at"].is_string() && running["started_at"].is_string());
    for _ in 0..2 {
        let asked = app.post(&cancel).by(&alex).expect(200).await.body;
        assert_eq!((&asked["status"], &asked["cancel_requested"]), (&json!("running"), &json!(true)));
    }
    let finished = FinishedRun {
        run: claimed[0].id,
        task: claimed[0].task,
        epoch: 1,
        end: RunEnd::Succeeded,
        error: None,
        output: Some("200".into()),
        version: claimed[0].plan.version,
        next: Next::Nothing,
    };
    app.store.work(session, Work { finished: &[finished], budget: 0, floor: 0 }).await.unwrap();
    app.post(&cancel).by(&alex).refused(409, "conflict").await;
    let over = app.get(&path).by(&alex).expect(200).await.body;
    assert_eq!((&over["status"], &over["output"]), (&json!("succeeded"), &json!("200")));
    app.stop().await;
}

/// Whoever waits for something to be due is told at once, on this node and on the others.
#[tokio::test]
async fn schedulers_are_woken_on_every_node() {
    let shared = crate::app::Shared::new().await;
    let mut settings = shared.settings();
    settings.cluster.mode = ClusterMode::Multi;
    let (app, other) = (shared.start(&settings).await, shared.start(&settings).await);
    let (alex, admin) = (app.person("alex").await, app.admin().await);
    let (here, there) = (app.operations.task_wake(), other.operations.task_wake());
    let woken = async || {
        assert!(here.notified().now_or_never().is_some(), "this node, before the answer");
        tokio::time::timeout(Duration::from_secs(20), there.notified()).await.expect("the other node");
        // A wake of the listener's own start is none of ours.
        while here.notified().now_or_never().is_some() || there.notified().now_or_never().is_some() {}
    };
    // The listener of the other node hears from here on: it has had an entry.
    let task = app.post("/v1/tasks").by(&alex).json(&webhook()).expect(201).await.text("id");
    woken().await;
    let path = format!("/v1/tasks/{task}");
    app.patch(&path).by(&alex).json(&json!({ "schedule": "@daily" })).expect(200).await;
    woken().await;
    let run = app.post(&format!("{path}/run")).by(&alex).expect(202).await.text("id");
    woken().await;
    app.post(&format!("/v1/task-runs/{run}/cancel")).by(&alex).expect(200).await;
    woken().await;
    app.put("/v1/admin/scheduler").by(&admin).json(&json!({ "enabled": false })).expect(200).await;
    woken().await;
    app.delete(&path).by(&alex).expect(204).await;
    woken().await;
    for node in [app, other] {
        node.stop().await;
    }
}
