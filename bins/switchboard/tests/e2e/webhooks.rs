//! Webhooks of tasks: what is called, how often, and by a worker that is paused or told to stop.

use std::sync::Arc;
use std::time::Duration;

use domain::task::{Action, Trigger};
use domain::{TaskId, TaskRunId};
use serde_json::json;
use store::Store;
use store::tasks::{NewTaskRun, TaskSettings};
use testkit::cluster::ClusterOptions;
use tokio::time::Instant;

use crate::receiver::Receiver;
use crate::tasks::{make, settings, workers};
use crate::world::{PATIENCE, Person, World, in_both_worlds, of_many};

in_both_worlds!(
    a_webhook_is_signed_alike_and_tried_until_it_is_taken,
    a_worker_that_is_told_to_stop_hands_its_run_back_as_the_attempt_it_was,
    a_run_that_takes_too_long_or_is_cancelled_is_stopped,
    runs_of_one_task_go_one_after_the_other_at_once,
);

fn two_workers(options: ClusterOptions) -> ClusterOptions {
    workers(options)
        .nodes(1, 0, 2)
        .setting("outbound.allow_http", "true")
        .setting("outbound.allow_private", "127.0.0.0/8")
        .setting("scheduler.retry_min", "100ms")
}

/// Nobody looks by itself.
fn only_told(options: ClusterOptions) -> ClusterOptions {
    options.setting("scheduler.interval", "1h").setting("scheduler.startup_jitter", "0s")
}

struct Scene {
    world: World,
    alex: Person,
    store: Arc<dyn Store>,
    receiver: Receiver,
}

impl Scene {
    async fn on(options: ClusterOptions) -> Self {
        let world = World::on(two_workers(options)).await;
        let alex = world.person(1, "alex").await;
        let store = world.store().await;
        Self { world, alex, store, receiver: Receiver::start().await }
    }

    async fn webhook(&self, change: impl FnOnce(&mut TaskSettings)) -> TaskId {
        let mut settings = settings("call", Action::Webhook { url: self.receiver.url.clone(), body: None });
        change(&mut settings);
        make(&*self.store, self.alex.id, settings).await
    }

    async fn run(&self, task: TaskId) -> TaskRunId {
        let run = NewTaskRun {
            id: TaskRunId::new(),
            task,
            trigger: Trigger::Manual,
            delivery: None,
            input: None,
            max_queued: 10,
            trace: None,
        };
        self.store.queue_task_run(&run).await.expect("queued").run
    }

    /// As its owner asks for it, so that workers are told.
    async fn run_by_rest(&self, task: TaskId) -> TaskRunId {
        let (status, run) = self.alex.rest("POST", &format!("/v1/tasks/{task}/run"), None).await;
        assert_eq!(status, 202, "{run}");
        run["id"].as_str().expect("an id").parse().expect("an id")
    }

    /// The worker that is at a run.
    async fn busy(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for name in ["worker-1", "worker-2"] {
                if self.world.metric(name, "switchboard_tasks_running").await == Some(1.0) {
                    return name.to_owned();
                }
            }
            assert!(Instant::now() < deadline, "no worker is at anything");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The history once it has so many lines: status, attempt, epoch, error.
    async fn history(&self, lines: usize) -> Vec<(String, String, String)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let rows =
                self.world.sql("SELECT status, attempt, epoch FROM task_runs ORDER BY finished_at").await;
            if rows.len() >= lines {
                let text = |row: &[Option<String>], n: usize| row[n].clone().unwrap_or_default();
                return rows.iter().map(|row| (text(row, 0), text(row, 1), text(row, 2))).collect();
            }
            assert!(Instant::now() < deadline, "{rows:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn line(status: &str, attempt: u32, epoch: u32) -> (String, String, String) {
    (status.to_owned(), attempt.to_string(), epoch.to_string())
}

async fn a_webhook_is_signed_alike_and_tried_until_it_is_taken(options: ClusterOptions) {
    // Nobody looks by itself.
    let scene = Scene::on(only_told(options)).await;
    let task = scene.webhook(|_| {}).await;
    scene.run_by_rest(task).await;
    let first = scene.receiver.call().await;
    assert_eq!(first.json()["trigger"], "manual");
    assert_eq!(first.json()["task_id"], json!(task));
    let id = first.header("webhook-id").to_owned();
    assert_eq!(first.header("switchboard-attempt"), "1");
    assert!(first.answer(503, "later"));
    let second = scene.receiver.call().await;
    assert_eq!((second.header("webhook-id"), second.header("switchboard-attempt")), (id.as_str(), "2"));
    assert!(second.answer(200, "thanks"));
    assert_eq!(scene.history(2).await, [line("failed", 1, 1), line("succeeded", 2, 1)]);
    let output = scene.world.sql("SELECT output FROM task_runs ORDER BY attempt").await;
    assert_eq!(output[1][0].as_deref(), Some("HTTP 200\nthanks"));

    // What will not get better is not tried again.
    scene.run_by_rest(task).await;
    assert!(scene.receiver.call().await.answer(404, ""));
    assert_eq!(scene.history(3).await[2], line("failed", 1, 1));
    assert!(scene.receiver.is_idle().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_worker_that_was_paused_for_longer_than_its_lease_ends_nothing() {
    let scene = Scene::on(of_many().await).await;
    let task = scene.webhook(|_| {}).await;
    scene.run(task).await;
    let held = scene.receiver.call().await;
    let paused = scene.busy().await;
    scene.world.cluster.pause(&paused);
    // The other takes it up, and does it.
    let again = scene.receiver.call().await;
    assert_eq!(again.header("webhook-id"), held.header("webhook-id"));
    assert!(again.answer(200, "done by the other"));
    let done = [line("lost", 1, 1), line("succeeded", 2, 1)];
    assert_eq!(scene.history(2).await, done);
    // What the paused one waited for comes now.
    held.answer(200, "too late");
    scene.world.cluster.resume(&paused);
    // It goes on with a lease of its own, and what it did counts for nothing.
    let sessions = async || {
        let rows = scene.world.sql("SELECT count(*) FROM task_workers WHERE lease_until > now()").await;
        rows[0][0].clone()
    };
    let deadline = Instant::now() + PATIENCE;
    while sessions().await.as_deref() != Some("2") {
        assert!(Instant::now() < deadline, "the paused worker does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(scene.history(2).await, done);
    let outputs = scene.world.sql("SELECT output FROM task_runs WHERE output IS NOT NULL").await;
    assert_eq!(outputs, [vec![Some("HTTP 200\ndone by the other".to_owned())]]);
    // And works again.
    scene.run(task).await;
    assert!(scene.receiver.call().await.answer(204, ""));
    assert_eq!(scene.history(3).await[2], line("succeeded", 1, 1));
}

/// Another goes on, or the same once it is back.
async fn a_worker_that_is_told_to_stop_hands_its_run_back_as_the_attempt_it_was(options: ClusterOptions) {
    // Nobody looks by itself: those who go on are told.
    let mut scene =
        Scene::on(only_told(options).setting("scheduler.drain", "500ms").setting("shutdown.spread", "0s"))
            .await;
    let task = scene.webhook(|settings| settings.retries = 0).await;
    let run = scene.run_by_rest(task).await;
    let held = scene.receiver.call().await;
    let stopping = scene.busy().await;
    assert!(scene.world.cluster.stop(&stopping).await.success());
    if !scene.world.has_many_nodes() {
        scene.world.cluster.start_again(&stopping).await;
    }
    let again = scene.receiver.call().await;
    assert_eq!(again.header("switchboard-attempt"), "1");
    assert!(again.answer(200, "ok"));
    drop(held);
    assert_eq!(scene.history(1).await, [line("succeeded", 1, 2)]);
    let rows = scene.world.sql("SELECT id FROM task_runs").await;
    assert_eq!(rows[0][0], Some(run.to_string()));
}

async fn a_run_that_takes_too_long_or_is_cancelled_is_stopped(options: ClusterOptions) {
    let scene = Scene::on(options).await;
    let task = scene.webhook(|settings| {
        settings.max_runtime = Duration::from_millis(300);
        settings.retries = 1;
    });
    scene.run(task.await).await;
    let first = scene.receiver.call().await;
    let second = scene.receiver.call().await;
    let history = scene.history(2).await;
    assert_eq!(history, [line("timed_out", 1, 1), line("timed_out", 2, 1)]);
    assert!(!first.answer(200, "") && !second.answer(200, ""));

    let slow = scene.webhook(|_| {}).await;
    let run = scene.run(slow).await;
    let held = scene.receiver.call().await;
    let stopped = scene.store.cancel_task_run(run, 1, store::queue::Next::Nothing).await.expect("asked");
    assert!(stopped.is_some_and(|run| run.cancel_requested));
    assert_eq!(scene.history(3).await[2], line("cancelled", 1, 1));
    assert!(!held.answer(200, ""), "the call goes on");
    assert!(scene.receiver.is_idle().await);
}

/// Runs that wait for others of their task go on one after the other, without anybody looking by itself.
async fn runs_of_one_task_go_one_after_the_other_at_once(options: ClusterOptions) {
    let scene = Scene::on(only_told(options)).await;
    let task = scene.webhook(|_| {}).await;
    for _ in 0..5 {
        scene.run_by_rest(task).await;
    }
    for n in 1..=5 {
        let call = scene.receiver.call().await;
        assert!(scene.receiver.is_idle().await, "two at once");
        assert!(call.answer(200, ""));
        scene.history(n).await;
    }
}
