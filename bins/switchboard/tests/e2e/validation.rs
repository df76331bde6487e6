//! What an operator tries on a new cluster, done by a test: two nodes of each role behind nginx.
//!
//! What it prints is on the page `docs/operations/validation.md`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use client::Credential;
use jiff::Timestamp;
use protocol::Encoding;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::front::{Front, trusting};
use crate::wire::{Wire, body};
use crate::world::{PASSWORD, PATIENCE, Person, World};

/// How many ticks are looked at.
const TICKS: usize = 12;

/// What was seen, for the page.
struct Report(Vec<String>);

impl Report {
    fn saw(&mut self, line: String) {
        println!("{line}");
        self.0.push(line);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_validation_two_of_each_role_behind_nginx() {
    let mut world = World::with(|options| {
        trusting(options)
            .nodes(2, 2, 2)
            .setting("scheduler.lease", "2s")
            .setting("scheduler.startup_jitter", "100ms")
            .setting("cluster.presence_ttl", "5s")
    })
    .await;
    let front = Front::of(&world).await;
    let (alex, sam) = (front.person("alex").await, front.person("sam").await);
    let mut report = Report(Vec::new());
    memory(&world, &mut report);
    a_message_crosses_nodes(&world, &alex, &sam, &mut report).await;
    a_ticket_opens_any_gateway(&world, &front, &sam, &mut report).await;
    let task = a_task_that_ticks(&alex).await;
    a_gateway_dies(&mut world, &front, &alex, &sam, &mut report).await;
    an_api_node_dies(&mut world, &alex, &mut report).await;
    a_worker_dies(&mut world, &alex, &task, &mut report).await;
    every_tick_once(&alex, &task, &mut report).await;
    memory(&world, &mut report);
    println!("\n{}\n{}", report.0.join("\n"), front.log());
}

fn memory(world: &World, report: &mut Report) {
    let resident: Vec<String> = world
        .cluster
        .names()
        .iter()
        .map(|node| format!("{node} {:.0} MB", world.resident(node) as f64 / 1e6))
        .collect();
    report.saw(format!("resident memory: {}", resident.join(", ")));
}

async fn a_message_crosses_nodes(world: &World, alex: &Person, sam: &Person, report: &mut Report) {
    let room = alex.room("Lunch", &[sam]).await;
    let mut wire = world.connect(sam, 2).await;
    let sent = Instant::now();
    let answer = alex.at(world, 1).send_message(room, &client::api::NewMessage::new("soup at noon")).await;
    let event = wire.next_in(room, "message.created").await;
    assert_eq!((event.seq, body(&event).as_str()), (answer.expect("sent").event.seq, "soup at noon"));
    let took = sent.elapsed();
    report.saw(format!("a message sent on api-1 came to a socket on gateway-2 in {took:.0?}"));
}

async fn a_ticket_opens_any_gateway(world: &World, front: &Front, sam: &Person, report: &mut Report) {
    let ticket = Credential::Ticket(sam.at(world, 1).ticket().await.expect("a ticket").ticket);
    let mut wire = Wire::open(&world.cluster.gateway_url(2), &ticket, Encoding::Json).await.expect("let in");
    wire.identify(sam.device).await;
    wire.until_live().await;
    report.saw("a ticket of api-1 opened a socket on gateway-2".to_owned());
    let mut wire = Wire::open(&front.gateway_url(), &sam.ticket().await, Encoding::Proto).await.expect("in");
    wire.identify(sam.device).await;
    wire.until_live().await;
    report.saw("a socket opened through nginx".to_owned());
}

/// Says something into a room of its own every second.
struct Ticking {
    id: String,
    room: domain::RoomId,
}

async fn a_task_that_ticks(alex: &Person) -> Ticking {
    let room = alex.room("Ticks", &[]).await;
    let action = json!({ "kind": "message", "room_id": room, "body": "tick" });
    let body =
        json!({ "name": "ticks", "schedule": "every 1s", "misfire": "once", "retries": 5, "action": action });
    let (status, task) = alex.rest("POST", "/v1/tasks", Some(&body)).await;
    assert_eq!(status, 201, "{task}");
    Ticking { id: task["id"].as_str().expect("an id").to_owned(), room }
}

async fn a_gateway_dies(world: &mut World, front: &Front, alex: &Person, sam: &Person, report: &mut Report) {
    let room = alex.room("Tea", &[sam]).await;
    let mut wire = world.connect(sam, 1).await;
    world.cluster.kill("gateway-1").await;
    let died = Instant::now();
    wire.until_lost().await;
    alex.says(room, "who is there?").await;
    let mut back = Wire::open(&front.gateway_url(), &sam.ticket().await, Encoding::Json).await.expect("in");
    back.resume(wire.ready().session_id, wire.cursors()).await;
    back.next_in(room, "message.created").await;
    let took = died.elapsed();
    report.saw(format!(
        "gateway-1 killed: its client was on gateway-2 with what it had missed after {took:.0?}"
    ));
    world.cluster.start_again("gateway-1").await;
}

async fn an_api_node_dies(world: &mut World, alex: &Person, report: &mut Report) {
    world.cluster.kill("api-1").await;
    let asked = 50;
    for _ in 0..asked {
        alex.api.me().await.expect("an answer through nginx");
    }
    report.saw(format!("api-1 killed: {asked} of {asked} requests through nginx were answered"));
    world.cluster.start_again("api-1").await;
}

async fn a_worker_dies(world: &mut World, alex: &Person, task: &Ticking, report: &mut Report) {
    until_ticks(alex, task, 3).await;
    let mut longest = Duration::ZERO;
    for worker in ["worker-1", "worker-2"] {
        let before = ticks(alex, task).await.len();
        let died = Instant::now();
        world.cluster.kill(worker).await;
        until_ticks(alex, task, before + 1).await;
        longest = longest.max(died.elapsed());
        world.cluster.start_again(worker).await;
    }
    report.saw(format!(
        "each worker killed in turn: the next tick was done by the other {longest:.1?} later at most"
    ));
}

async fn every_tick_once(alex: &Person, task: &Ticking, report: &mut Report) {
    until_ticks(alex, task, TICKS).await;
    let path = format!("/v1/tasks/{}", task.id);
    let (status, _) = alex.rest("PATCH", &path, Some(&json!({ "is_active": false }))).await;
    assert_eq!(status, 200);
    let runs = ticks(alex, task).await;
    let mut by_tick: BTreeMap<Timestamp, usize> = BTreeMap::new();
    for run in &runs {
        let tick = run["scheduled_for"].as_str().expect("a time").parse().expect("a time");
        *by_tick.entry(tick).or_default() += 1;
    }
    assert!(by_tick.values().all(|runs| *runs == 1), "a tick ran twice: {by_tick:?}");
    let times: Vec<Timestamp> = by_tick.into_keys().collect();
    for two in times.windows(2) {
        // After a death the tick that was under way comes late, and those behind it are one.
        assert!(two[1].duration_since(two[0]).as_secs() >= 1, "{two:?}");
    }
    let said = alex.api.events(task.room, &client::api::Range::After(0), Some(1000)).await.expect("a page");
    let said = said.items.iter().filter(|event| event.kind == "message.created").count();
    assert_eq!(said, runs.len(), "one message for each tick");
    report.saw(format!(
        "a task that ticks every second: {said} ticks, {said} runs that succeeded, {said} messages"
    ));
}

/// The runs that succeeded.
async fn ticks(alex: &Person, task: &Ticking) -> Vec<Value> {
    let (status, page) = alex.rest("GET", &format!("/v1/tasks/{}/runs?limit=50", task.id), None).await;
    assert_eq!(status, 200, "{page}");
    let runs = page["items"].as_array().expect("a list").iter();
    runs.filter(|run| run["status"] == "succeeded").cloned().collect()
}

async fn until_ticks(alex: &Person, task: &Ticking, wanted: usize) {
    let waiting = async {
        while ticks(alex, task).await.len() < wanted {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("it ticks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_validation_ten_quick_logins_through_nginx_are_limited_over_both_nodes() {
    let world = World::with(|options| {
        trusting(options)
            .setting("auth.rate", "0.01")
            .setting("auth.burst", "8")
            .setting("auth.rate_timeout", "20s")
    })
    .await;
    let front = Front::of(&world).await;
    // From another address than those below, so out of another bucket.
    front.person("alex").await;
    let login = async |client: &reqwest::Client, forwarded: &str| {
        let body = json!({ "handle": "alex", "password": PASSWORD });
        let url = format!("{}/v1/auth/login", front.api_url());
        let sent = client.post(url).header("x-forwarded-for", forwarded).json(&body).send().await;
        sent.expect("an answer").status()
    };
    let mut answers = Vec::new();
    for n in 0..10 {
        // What a client says of itself counts for nothing: nginx adds where it really comes from.
        let client = reqwest::Client::builder().local_address(IpAddr::from([127, 0, 0, 2])).build();
        let client = client.expect("a client");
        answers.push(login(&client, &format!("203.0.113.{n}")).await);
    }
    let through = answers.iter().filter(|status| **status == StatusCode::OK).count();
    let limited = answers.iter().filter(|status| **status == StatusCode::TOO_MANY_REQUESTS).count();
    assert_eq!((through, limited), (8, 2), "{answers:?}");
    let mut by_node = Vec::new();
    for node in ["api-1", "api-2"] {
        let answered = world.sign_ins_of(node).await;
        assert!(answered > 0.0, "{node} answered none");
        by_node.push(format!("{node} answered {answered}"));
    }
    println!("ten quick logins: 8 through, then 429 ({})", by_node.join(", "));
}

impl World {
    /// How many logins a node has answered, whatever it said.
    async fn sign_ins_of(&self, node: &str) -> f64 {
        let (_, text) = self.cluster.admin(node, "/metrics").await.expect("metrics");
        let logins = text.lines().filter(|line| {
            line.starts_with("switchboard_http_requests_total") && line.contains("route=\"/v1/auth/login\"")
        });
        logins.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }
}
