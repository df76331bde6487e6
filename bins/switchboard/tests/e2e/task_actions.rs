//! What tasks do in rooms: messages, and runs of agents that are followed to their end.

use std::sync::Arc;

use domain::task::{Action, Trigger};
use domain::{RoomId, TaskId, TaskRunId};
use serde_json::{Value, json};
use store::Store;
use store::tasks::NewTaskRun;
use testkit::cluster::ClusterOptions;
use tokio::time::Instant;

use crate::robot::Robot;
use crate::tasks::{make, settings, workers};
use crate::wire::data;
use crate::world::{PATIENCE, Person, World, in_both_worlds, of_many};

in_both_worlds!(
    a_task_says_its_message_once_in_its_owners_name,
    a_task_follows_the_run_of_an_agent_to_its_end,
    a_run_that_is_cancelled_stops_the_run_of_the_agent,
);

struct Scene {
    world: World,
    alex: Person,
    room: RoomId,
    robot: Robot,
    store: Arc<dyn Store>,
}

impl Scene {
    async fn start() -> Self {
        Self::on(of_many().await).await
    }

    async fn on(options: ClusterOptions) -> Self {
        let options = workers(options).nodes(1, 1, 2).setting("scheduler.retry_min", "100ms");
        let world = World::on(options).await;
        let alex = world.person(1, "alex").await;
        let room = alex.room("Standup", &[]).await;
        let robot = alex.robot("helper").await;
        alex.invite(&robot, room).await;
        let store = world.store().await;
        Self { world, alex, room, robot, store }
    }

    async fn task(&self, action: Action) -> TaskId {
        make(&*self.store, self.alex.id, settings("standup", action)).await
    }

    async fn ask_agent(&self) -> TaskId {
        let (room_id, agent_id) = (self.room, self.robot.id);
        self.task(Action::AgentRun { room_id, agent_id, input: json!("sum up the week") }).await
    }

    async fn run(&self, task: TaskId, input: Option<&str>) -> TaskRunId {
        let run = NewTaskRun {
            id: TaskRunId::new(),
            task,
            trigger: if input.is_some() { Trigger::Webhook } else { Trigger::Manual },
            delivery: None,
            input: input.map(|text| text.as_bytes().to_vec()),
            max_queued: 10,
            trace: None,
        };
        self.store.queue_task_run(&run).await.expect("queued").run
    }

    /// Statuses and outputs in the history, once it has so many lines.
    async fn history(&self, lines: usize) -> Vec<(String, Value)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let rows =
                self.world.sql("SELECT status, output, error FROM task_runs ORDER BY finished_at").await;
            if rows.len() >= lines {
                let read = |row: &Vec<Option<String>>| {
                    let output = row[1].as_ref().or(row[2].as_ref()).cloned().unwrap_or_default();
                    let output = serde_json::from_str(&output).unwrap_or(Value::String(output));
                    (row[0].clone().unwrap_or_default(), output)
                };
                return rows.iter().map(read).collect();
            }
            assert!(Instant::now() < deadline, "{rows:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn follower(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for name in ["worker-1", "worker-2"] {
                if self.world.metric(name, "switchboard_tasks_running").await == Some(1.0) {
                    return name.to_owned();
                }
            }
            assert!(Instant::now() < deadline, "nobody follows");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}

async fn a_task_says_its_message_once_in_its_owners_name(options: ClusterOptions) {
    let scene = Scene::on(options).await;
    let mut wire = scene.world.connect(&scene.alex, 1).await;
    let body = "Deployed: {{input}}".to_owned();
    let task = scene.task(Action::Message { room_id: scene.room, body }).await;
    scene.run(task, Some("release 7")).await;
    let said = wire.event_of("message.created").await;
    assert_eq!(data(&said)["body"], "Deployed: release 7");
    assert_eq!(data(&said)["task_id"], json!(task));
    assert_eq!(said.sender.id, Some(scene.alex.id.0));
    let history = scene.history(1).await;
    assert_eq!((history[0].0.as_str(), &history[0].1["event_id"]), ("succeeded", &json!(said.id)));

    // Whoever may not say anything there says nothing, and is not asked again.
    scene.world.sql("DELETE FROM members").await;
    scene.run(task, None).await;
    assert_eq!(scene.history(2).await[1].0, "failed");
    let queued = scene.world.words(
        "SELECT count(*) FROM task_queue WHERE due_at < 'infinity'",
        "SELECT count(*) FROM task_queue WHERE due_at < 1000000000000000000",
    );
    assert_eq!(scene.world.sql(queued).await[0][0].as_deref(), Some("0"));
}

async fn a_task_follows_the_run_of_an_agent_to_its_end(options: ClusterOptions) {
    let scene = Scene::on(options).await;
    let mut consumer = scene.robot.consumer(&scene.world, 1, "main").await;
    let task = scene.ask_agent().await;
    scene.run(task, Some(r#"{"week": 48}"#)).await;
    let (run, requested) = consumer.requested().await;
    assert_eq!(data(&requested)["input"], json!({ "input": "sum up the week", "hook": { "week": 48 } }));
    let epoch = consumer.start(run).await;
    consumer.finish(run, epoch, "failed", None).await;
    // Another attempt asks anew.
    let (again, _) = consumer.requested().await;
    assert_ne!(again, run);
    let epoch = consumer.start(again).await;
    consumer.finish(again, epoch, "succeeded", None).await;
    let history = scene.history(2).await;
    assert_eq!(history[0].0, "failed");
    assert_eq!(history[1], ("succeeded".to_owned(), json!({ "run_id": again, "status": "succeeded" })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_worker_that_dies_while_it_follows_is_followed_by_one_that_asks_nothing_new() {
    let mut scene = Scene::start().await;
    let mut consumer = scene.robot.consumer(&scene.world, 1, "main").await;
    let task = scene.ask_agent().await;
    scene.run(task, None).await;
    let (run, _) = consumer.requested().await;
    let epoch = consumer.start(run).await;
    let follower = scene.follower().await;
    scene.world.cluster.kill(&follower).await;
    assert_eq!(scene.history(1).await[0].0, "lost");
    consumer.finish(run, epoch, "succeeded", None).await;
    assert_eq!(
        scene.history(2).await[1],
        ("succeeded".to_owned(), json!({ "run_id": run, "status": "succeeded" }))
    );
    let made = scene.world.sql("SELECT count(*) FROM runs").await;
    assert_eq!(made[0][0].as_deref(), Some("1"));
}

/// A paused worker whose time is over when it wakes up does not stop the agent's run that another follows now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_worker_that_was_paused_while_it_followed_stops_nothing() {
    let scene = Scene::start().await;
    let mut consumer = scene.robot.consumer(&scene.world, 1, "main").await;
    let (room_id, agent_id) = (scene.room, scene.robot.id);
    let mut asking = settings("ask", Action::AgentRun { room_id, agent_id, input: json!("sum up the week") });
    asking.max_runtime = std::time::Duration::from_secs(10);
    let task = make(&*scene.store, scene.alex.id, asking).await;
    let begun = Instant::now();
    scene.run(task, None).await;
    let (run, _) = consumer.requested().await;
    let epoch = consumer.start(run).await;
    let paused = scene.follower().await;
    scene.world.cluster.pause(&paused);
    assert_eq!(scene.history(1).await[0].0, "lost");
    tokio::time::sleep_until(begun + std::time::Duration::from_secs(10)).await;
    scene.world.cluster.resume(&paused);
    scene.world.until_metric(&paused, "switchboard_tasks_running", |runs| runs == 0.0).await;
    let asked = scene.world.sql("SELECT count(*) FROM runs WHERE cancel_requested_at IS NOT NULL").await;
    assert_eq!(asked[0][0].as_deref(), Some("0"));
    consumer.finish(run, epoch, "succeeded", None).await;
    assert_eq!(
        scene.history(2).await[1],
        ("succeeded".to_owned(), json!({ "run_id": run, "status": "succeeded" }))
    );
}

/// Who asked for a run to be stopped is not undone by the death of its worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_cancel_outlives_the_worker_that_was_to_obey_it() {
    let mut scene = Scene::start().await;
    let mut consumer = scene.robot.consumer(&scene.world, 1, "main").await;
    let task = scene.ask_agent().await;
    let first = scene.run(task, None).await;
    let (run, _) = consumer.requested().await;
    let epoch = consumer.start(run).await;
    let follower = scene.follower().await;
    scene.world.cluster.kill(&follower).await;
    scene.store.cancel_task_run(first, 1, store::queue::Next::Nothing).await.expect("asked");
    consumer.next_event_is("run.cancel_requested").await;
    let history: Vec<_> = scene.history(2).await.into_iter().map(|(status, _)| status).collect();
    assert_eq!(history, ["lost", "cancelled"]);
    consumer.finish(run, epoch, "cancelled", None).await;
}

async fn a_run_that_is_cancelled_stops_the_run_of_the_agent(options: ClusterOptions) {
    let scene = Scene::on(options).await;
    let mut consumer = scene.robot.consumer(&scene.world, 1, "main").await;
    let task = scene.ask_agent().await;
    let first = scene.run(task, None).await;
    let (run, _) = consumer.requested().await;
    let epoch = consumer.start(run).await;
    scene.store.cancel_task_run(first, 1, store::queue::Next::Nothing).await.expect("asked");
    consumer.next_event_is("run.cancel_requested").await;
    assert_eq!(scene.history(1).await[0].0, "cancelled");
    consumer.finish(run, epoch, "cancelled", None).await;
}
