//! Tasks over several workers that die, hang and lose their database.
//!
//! What is looked at in the end is the history: each tick of a schedule that was begun has one run that succeeded, or runs that were lost, each
//! followed by its retry; and no run of a task was begun before the one before it was over.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::task::{Action, Misfire, Priority, SystemJob};
use domain::{Schedule, TaskId, UserId};
use jiff::Timestamp;
use rand::Rng;
use serde_json::json;
use store::Store;
use store::tasks::{NewTask, TaskSettings};
use testkit::cluster::ClusterOptions;
use testkit::postgres::OwnServer;
use tokio::time::Instant;

use crate::world::{PATIENCE, Person, World, in_both_worlds, of_one};

in_both_worlds!(
    ticks_that_nobody_was_there_for_are_made_up_for_or_left_out,
    a_switch_stops_workers_from_beginning_anything,
    ticks_come_in_time_although_nobody_looks_by_itself,
    an_owner_who_lost_the_right_has_nothing_done,
    an_action_of_a_newer_release_fails_and_the_others_go_on,
);

const LEASE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_secs(1);
const WORKERS: usize = 4;

pub(crate) fn workers(options: ClusterOptions) -> ClusterOptions {
    options
        .nodes(1, 0, WORKERS)
        .setting("scheduler.lease", "2s")
        .setting("scheduler.interval", "1s")
        .setting("scheduler.startup_jitter", "200ms")
}

/// A task as the tests have it: runs when it is told to, and is tried often.
pub(crate) fn settings(name: &str, action: Action) -> TaskSettings {
    TaskSettings {
        name: name.to_owned(),
        schedule: None,
        timezone: "UTC".into(),
        anchor: Timestamp::now(),
        action,
        is_active: true,
        priority: Priority::Normal,
        max_runtime: Duration::from_secs(60),
        retries: 20,
        misfire: Misfire::Once,
    }
}

/// Makes a task in the store itself.
pub(crate) async fn make(store: &dyn Store, owner: UserId, settings: TaskSettings) -> TaskId {
    let first = settings.schedule.as_ref().and_then(|schedule| {
        let schedule = Schedule::parse(schedule, &settings.timezone).expect("a schedule");
        schedule.anchored_at(settings.anchor).next_after(Timestamp::now())
    });
    let id = TaskId::new();
    let task =
        NewTask { id, owner, settings, first, hook: None, webhook_key: None, key: None, max_per_owner: 1000 };
    store.create_task(&task).await.expect("a task");
    id
}

/// One line of the history.
#[derive(Debug, Clone)]
struct Line {
    task: String,
    status: String,
    attempt: u32,
    tick: Timestamp,
    started: Option<Timestamp>,
    finished: Timestamp,
}

async fn history(world: &World) -> Vec<Line> {
    let lines = world.words(
        "SELECT task_id, status, attempt, CAST(extract(epoch FROM scheduled_for) * 1000000 AS bigint), \
         CAST(extract(epoch FROM started_at) * 1000000 AS bigint), \
         CAST(extract(epoch FROM finished_at) * 1000000 AS bigint) \
         FROM task_runs ORDER BY task_id, scheduled_for, attempt",
        "SELECT task_id, status, attempt, scheduled_for, started_at, finished_at \
         FROM task_runs ORDER BY task_id, scheduled_for, attempt",
    );
    let rows = world.sql(lines).await;
    let line = |row: Vec<Option<String>>| {
        let time = |text: &Option<String>| {
            let microseconds = text.as_ref().map(|text| text.parse().expect("a number"));
            microseconds.map(|number| Timestamp::from_microsecond(number).expect("a time"))
        };
        Line {
            task: row[0].clone().expect("a task"),
            status: row[1].clone().expect("a status"),
            attempt: row[2].as_ref().expect("an attempt").parse().expect("a number"),
            tick: time(&row[3]).expect("a tick"),
            started: time(&row[4]),
            finished: time(&row[5]).expect("an end"),
        }
    };
    rows.into_iter().map(line).collect()
}

/// Each tick that was begun came to one success, after as many lost attempts as there were; in order, one at a time.
fn check(lines: &[Line]) {
    let mut ticks: BTreeMap<(&str, Timestamp), Vec<&Line>> = BTreeMap::new();
    for line in lines {
        ticks.entry((&line.task, line.tick)).or_default().push(line);
    }
    let mut last: HashMap<&str, &Line> = HashMap::new();
    for ((task, tick), attempts) in &ticks {
        for (n, line) in attempts.iter().enumerate() {
            assert_eq!(line.attempt as usize, n + 1, "{tick} of {task}: {attempts:?}");
            let wanted = if n + 1 == attempts.len() { "succeeded" } else { "lost" };
            assert_eq!(line.status, wanted, "{tick} of {task}: {attempts:?}");
            let started = line.started.expect("begun");
            if let Some(before) = last.get(task) {
                assert!(started >= before.finished, "two at once: {before:?} and {line:?}");
            }
            last.insert(task, line);
        }
    }
}

/// Ticks that nobody ran stand between the tick and the end of the run before: those stand for them.
fn check_nothing_was_missed(lines: &[Line], every: Duration, slack: Duration) {
    let mut by_task: HashMap<&str, Vec<&Line>> = HashMap::new();
    for line in lines.iter().filter(|line| line.status == "succeeded") {
        by_task.entry(&line.task).or_default().push(line);
    }
    for runs in by_task.values() {
        for pair in runs.windows(2) {
            let gap = pair[1].tick.duration_since(pair[0].tick).unsigned_abs();
            let busy = pair[0].finished.duration_since(pair[0].tick).unsigned_abs();
            assert!(
                gap <= every + busy + slack,
                "nobody ran what came after {:?}, next is {:?}",
                pair[0],
                pair[1]
            );
        }
    }
}

/// Nothing is left behind: what is in the queue is the next tick of each task, and nobody holds anything for longer than a lease.
async fn until_nothing_is_stuck(world: &World, tasks: usize) {
    let queue = world.words(
        "SELECT count(*), count(*) FILTER (WHERE due_at < now() - interval '3 seconds' OR attempt > 1) \
         FROM task_queue WHERE due_at < 'infinity'",
        "SELECT count(*), count(*) FILTER (WHERE due_at < (unixepoch('subsec') - 3) * 1000000 OR attempt > 1) \
         FROM task_queue WHERE due_at < 1000000000000000000",
    );
    let deadline = Instant::now() + LEASE + INTERVAL + Duration::from_secs(20);
    loop {
        let rows = world.sql(queue).await;
        let number =
            |n: usize| rows[0][n].as_ref().and_then(|text| text.parse::<usize>().ok()).expect("a number");
        if number(0) == tasks && number(1) == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{} in the queue, {} of them stuck", number(0), number(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn tasks_that_tick(world: &World, count: usize) {
    let alex = admin(world).await;
    tasks_of(&*world.store().await, alex.id, count).await;
}

/// Alex, who may have system jobs done.
async fn admin(world: &World) -> Person {
    let alex = world.person(1, "alex").await;
    world.sql("UPDATE users SET role = 'admin'").await;
    alex
}

/// One in ten ticks every minute, the others every second.
async fn tasks_of(store: &dyn Store, owner: UserId, count: usize) {
    for n in 0..count {
        let schedule = if n % 10 == 0 { "* * * * *" } else { "every 1s" };
        let mut settings = settings(&format!("tick {n}"), Action::System { name: SystemJob::Noop });
        settings.schedule = Some(schedule.to_owned());
        make(store, owner, settings).await;
    }
}

async fn runs(world: &World) -> usize {
    let rows = world.sql("SELECT count(*) FROM task_runs").await;
    rows[0][0].as_ref().and_then(|text| text.parse().ok()).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_hundred_kills_of_workers_leave_each_tick_done_once() {
    ticks_are_done_once_although_it_is_killed(World::with(workers).await, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_thirty_kills_of_the_process_leave_each_tick_done_once() {
    ticks_are_done_once_although_it_is_killed(World::on(workers(of_one())).await, 30).await;
}

async fn ticks_are_done_once_although_it_is_killed(mut world: World, kills: usize) {
    const TASKS: usize = 200;
    tasks_that_tick(&world, TASKS).await;
    for kill in 0..kills {
        let name = format!("worker-{}", rand::rng().random_range(1..=WORKERS));
        let before = runs(&world).await;
        let pause = Duration::from_millis(rand::rng().random_range(50..700));
        tokio::time::sleep(pause).await;
        world.cluster.kill(&name).await;
        world.cluster.start_again(&name).await;
        if kill % 10 == 9 {
            until_more(&world, before).await;
        }
    }
    until_nothing_is_stuck(&world, TASKS).await;
    let lines = history(&world).await;
    check(&lines);
    check_nothing_was_missed(
        &lines.iter().filter(|line| line.tick.subsec_nanosecond() != 0).cloned().collect::<Vec<_>>(),
        Duration::from_secs(1),
        Duration::from_secs(3),
    );
    let lost = lines.iter().filter(|line| line.status == "lost").count();
    let done = lines.iter().filter(|line| line.status == "succeeded").count();
    assert!(done > TASKS * 10, "only {done} runs succeeded");
    println!("{done} runs succeeded, {lost} were lost");
}

/// Waits until more runs are over.
async fn until_more(world: &World, before: usize) {
    let deadline = Instant::now() + LEASE + INTERVAL + Duration::from_secs(20);
    while runs(world).await <= before {
        assert!(Instant::now() < deadline, "nothing goes on after {before} runs");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_restart_of_the_database_leaves_each_tick_done_once() {
    let mut server = OwnServer::durable().await;
    let url = server.database("switchboard").await.expect("a database");
    let mut world = World::at(url, workers).await;
    tasks_that_tick(&world, 40).await;
    for round in 0..4 {
        let before = runs(&world).await;
        until_more(&world, before + 50).await;
        if round % 2 == 0 {
            server.crash().await.expect("crashed");
        } else {
            server.stop().await.expect("stopped");
        }
        server.start_again().await.expect("started again");
        // Two at the same instant.
        world.cluster.kill("worker-1").await;
        world.cluster.kill("worker-2").await;
        world.cluster.start_again("worker-1").await;
        world.cluster.start_again("worker-2").await;
    }
    let before = runs(&world).await;
    until_more(&world, before + 50).await;
    until_nothing_is_stuck(&world, 40).await;
    check(&history(&world).await);
}

/// Times are the database's: a worker that thinks it is an hour later, or earlier, begins nothing too soon, too late or twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_workers_whose_clocks_are_an_hour_off_change_nothing() {
    let mut world = World::with(|options| {
        workers(options)
            .wrong_clock("worker-1", "+1h")
            .wrong_clock("worker-2", "-1h")
            .wrong_clock("worker-3", "+1h")
    })
    .await;
    tasks_that_tick(&world, 40).await;
    for round in 0..4 {
        let before = runs(&world).await;
        until_more(&world, before + 60).await;
        let name = format!("worker-{}", 1 + round);
        world.cluster.kill(&name).await;
        world.cluster.start_again(&name).await;
    }
    until_nothing_is_stuck(&world, 40).await;
    let lines = history(&world).await;
    check(&lines);
    for line in lines.iter().filter(|line| line.attempt == 1) {
        let late = line.started.expect("begun").duration_since(line.tick);
        assert!(!late.is_negative() && late.as_secs() < 60, "{line:?}");
    }
    let by_node = world.sql("SELECT count(DISTINCT node_id) FROM task_runs").await;
    assert!(
        by_node[0][0].as_ref().is_some_and(|nodes| nodes.parse::<u32>().is_ok_and(|nodes| nodes >= 4)),
        "{by_node:?}"
    );
}

/// Ticks that nobody was there for: made up for once, or left out, as the task says; and the next are where they would have been.
async fn ticks_that_nobody_was_there_for_are_made_up_for_or_left_out(options: ClusterOptions) {
    let world = World::on(workers(options).nodes(1, 0, 2)).await;
    let alex = admin(&world).await;
    let store = world.store().await;
    let anchor = Timestamp::now() - Duration::from_secs(4 * 3600 + 1800);
    let mut tasks = Vec::new();
    for misfire in [Misfire::Once, Misfire::Skip] {
        let mut hourly = settings("hourly", Action::System { name: SystemJob::Noop });
        (hourly.schedule, hourly.anchor, hourly.misfire) = (Some("every 1h".to_owned()), anchor, misfire);
        let first = Some(anchor + Duration::from_secs(3600));
        let id = TaskId::new();
        let task = NewTask {
            id,
            owner: alex.id,
            settings: hourly,
            first,
            hook: None,
            webhook_key: None,
            key: None,
            max_per_owner: 10,
        };
        store.create_task(&task).await.expect("a task");
        tasks.push(id);
    }
    let next = anchor + Duration::from_secs(5 * 3600);
    let deadline = Instant::now() + PATIENCE;
    for (task, runs) in tasks.into_iter().zip([1, 0]) {
        loop {
            let stands = store.task(alex.id, task).await.expect("an answer").expect("a task");
            let at_next = stands.next_run_at.is_some_and(|at| at.as_microsecond() == next.as_microsecond());
            if at_next && stands.run_count == runs {
                break;
            }
            assert!(Instant::now() < deadline, "{stands:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    // One for all that were missed: the newest.
    let lines = history(&world).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let newest = anchor + Duration::from_secs(4 * 3600);
    assert_eq!(
        (lines[0].status.as_str(), lines[0].tick.as_microsecond()),
        ("succeeded", newest.as_microsecond())
    );
}

async fn a_switch_stops_workers_from_beginning_anything(options: ClusterOptions) {
    let world = World::on(workers(options).nodes(1, 0, 2)).await;
    let alex = admin(&world).await;
    let store = world.store().await;
    store.switch_scheduler(alex.id, false).await.expect("switched off");
    tasks_of(&*store, alex.id, 20).await;
    // Each looks several times meanwhile.
    let before = Instant::now();
    while before.elapsed() < INTERVAL * 3 {
        assert_eq!(runs(&world).await, 0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    store.switch_scheduler(alex.id, true).await.expect("switched on");
    until_more(&world, 40).await;
    check(&history(&world).await);
}

/// A worker that has just done a tick knows when the next one is, without looking by itself.
async fn ticks_come_in_time_although_nobody_looks_by_itself(options: ClusterOptions) {
    let world = World::on(
        workers(options)
            .nodes(1, 0, 1)
            .setting("scheduler.interval", "1h")
            .setting("scheduler.startup_jitter", "0s"),
    )
    .await;
    let alex = admin(&world).await;
    let mut body =
        json!({ "name": "tick", "schedule": "every 1s", "action": { "kind": "system", "name": "noop" } });
    let (status, task) = alex.rest("POST", "/v1/tasks", Some(&body)).await;
    assert_eq!(status, 201, "{task}");
    until_more(&world, 3).await;
    let late = |line: &Line| line.started.expect("begun").duration_since(line.tick).as_secs_f64();
    let lines = history(&world).await;
    assert!(lines.iter().all(|line| (0.0..0.9).contains(&late(line))), "{lines:?}");
    // One that is due before what it waits for is made while it sleeps.
    body["schedule"] = json!("every 300s");
    body["name"] = json!("seldom");
    let (status, seldom) = alex.rest("POST", "/v1/tasks", Some(&body)).await;
    assert_eq!(status, 201, "{seldom}");
    let before = runs(&world).await;
    until_more(&world, before + 2).await;
}

/// Who is disabled, or no administrator any more, has nothing done in their name; and nothing of it is tried again.
async fn an_owner_who_lost_the_right_has_nothing_done(options: ClusterOptions) {
    let world = World::on(workers(options).nodes(1, 0, 1)).await;
    let alex = admin(&world).await;
    let store = world.store().await;
    tasks_of(&*store, alex.id, 1).await;
    let task = make(&*store, alex.id, settings("once", Action::System { name: SystemJob::Noop })).await;
    let ended = async |status: &str, error: Option<&str>| {
        let run = store::tasks::NewTaskRun {
            id: domain::TaskRunId::new(),
            task,
            trigger: domain::task::Trigger::Manual,
            delivery: None,
            input: None,
            max_queued: 5,
            trace: None,
        };
        store.queue_task_run(&run).await.expect("queued");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let stands = store.task_run(alex.id, run.id).await.expect("an answer").expect("a run");
            if stands.status.is_over() {
                assert_eq!((stands.status.as_str(), stands.error.as_deref()), (status, error));
                return;
            }
            assert!(Instant::now() < deadline, "{stands:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    ended("succeeded", None).await;
    world.sql("UPDATE users SET role = 'user'").await;
    ended("failed", Some("the task's owner is no administrator any more")).await;
    store.set_user_disabled(alex.id, true).await.expect("disabled");
    ended("failed", Some("the task's owner is disabled")).await;
}

/// What a newer release wants done fails on a worker that does not know it, and keeps it from nothing else.
async fn an_action_of_a_newer_release_fails_and_the_others_go_on(options: ClusterOptions) {
    let world = World::on(workers(options).nodes(1, 0, 1).setting("scheduler.retry_min", "10s")).await;
    let alex = admin(&world).await;
    let store = world.store().await;
    let mut unknown = settings("unknown", Action::System { name: SystemJob::Noop });
    unknown.schedule = Some("every 1s".to_owned());
    let unknown = make(&*store, alex.id, unknown).await;
    world.sql("UPDATE tasks SET action = '{\"kind\": \"of tomorrow\"}'").await;
    tasks_of(&*store, alex.id, 2).await;
    until_more(&world, 4).await;
    let lines = history(&world).await;
    let failed: Vec<_> = lines.iter().filter(|line| line.task == unknown.to_string()).collect();
    assert_eq!(failed.len(), 1, "it waits for its next attempt: {lines:?}");
    assert_eq!(failed[0].status, "failed");
}
