//! Traces over several nodes, as a collector sees them, and the ids on the lines of the log.

use std::time::Duration;

use client::api::NewRoom;
use domain::DeviceKind;
use domain::task::Action;
use protocol::Encoding;
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use testkit::collector::{Behaviour, FakeCollector, Span};
use testkit::push::FakePush;
use tokio::time::{Instant, timeout};

use crate::notifications::{pushing, subscribe};
use crate::receiver::Receiver;
use crate::sse::Sse;
use crate::tasks::{make, settings};
use crate::world::{PATIENCE, World};

/// Nodes that say everything, and send their traces to a collector.
pub(crate) fn traced(options: ClusterOptions, collector: &FakeCollector) -> ClusterOptions {
    options
        .setting("telemetry.otlp_endpoint", collector.endpoint())
        .setting("log.format", "json")
        .setting("log.filter", "debug")
}

/// The lines of a node's log.
pub(crate) fn lines(world: &World, node: &str) -> Vec<Value> {
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{node}: {error}: {line}"));
    world.cluster.log(node).lines().map(parse).collect()
}

/// The line that is wanted, once a node has written it.
async fn line(world: &World, node: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // What is written just now may not be whole.
        let log = world.cluster.log(node);
        let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let found =
            whole.lines().filter_map(|line| serde_json::from_str(line).ok()).find(|line| wanted(line));
        if let Some(found) = found {
            return found;
        }
        assert!(Instant::now() < deadline, "{node} never says it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The id by which a node's spans name it.
fn id(world: &World, node: &str) -> String {
    lines(world, node)[0]["node"].as_str().expect("its id").to_owned()
}

fn is_of(span: &Span, node: &str) -> bool {
    span.resource["service.instance.id"] == node
}

#[tokio::test]
async fn cluster_a_send_and_its_delivery_on_another_node_are_one_trace() {
    let collector = FakeCollector::start().await;
    let world = World::with(|options| traced(options, &collector)).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut desk = world.connect(&sam, 2).await;
    let mut phone = world.connect_device(&sam, sam.new_device(DeviceKind::Mobile).await, 2).await;
    let [api, gateway] = ["api-1", "gateway-2"].map(|node| id(&world, node));

    // By REST, of a caller that has no trace.
    alex.says(room, "by REST").await;
    desk.event_of("message.created").await;
    phone.event_of("message.created").await;
    let sent = collector.span(|span| span.name == "POST /v1/rooms/{id}/messages").await;
    assert!(is_of(&sent, &api) && sent.parent.is_empty() && sent.kind == 2, "{sent:?}");
    assert_eq!(sent.attributes["http.response.status_code"], "201");
    assert_eq!(sent.resource["service.name"], "switchboard-api");
    let delivered = collector.span(|span| span.name == "deliver" && is_of(span, &gateway)).await;
    assert_eq!((&delivered.trace, &delivered.parent), (&sent.trace, &sent.id), "{delivered:?}");
    assert_eq!(delivered.attributes["path"], "remote");
    let append = collector.span(|span| span.name == "append" && span.trace == sent.trace).await;
    assert_eq!((&append.parent, append.attributes["sends"].as_str()), (&sent.id, "1"));

    // The lines of that request carry the same trace.
    let answered = line(&world, "api-1", |line| line["trace_id"] == sent.trace.as_str()).await;
    assert_eq!(answered["route"], "/v1/rooms/{id}/messages", "{answered}");
    assert_eq!(answered["request_id"].as_str().map(str::len), Some(36), "{answered}");

    // On a socket each send begins a trace.
    let mut wire = world.connect(&alex, 1).await;
    for n in ["one", "two"] {
        wire.send(room, n, n).await;
        wire.event_of("message.created").await;
        desk.event_of("message.created").await;
        phone.event_of("message.created").await;
    }
    let two = collector
        .span(|span| span.name == "deliver" && is_of(span, &gateway) && span.attributes["seq"] == "5")
        .await;
    // The other node tells of its spans when it does.
    let last = collector.span(|span| span.name == "send" && span.trace == two.trace).await;
    let first = collector.span(|span| span.name == "send" && span.trace != two.trace).await;
    assert!(first.parent.is_empty() && last.parent.is_empty(), "{first:?} {last:?}");
    assert_eq!(collector.spans().iter().filter(|span| span.name == "send").count(), 2);

    // One span for each event and node, however many connections are given it.
    for delivered in collector.spans().iter().filter(|span| span.name == "deliver" && is_of(span, &gateway)) {
        if delivered.attributes["event"] == "message.created" {
            assert_eq!(delivered.attributes["followers"], "2", "{delivered:?}");
        }
        let same = |other: &&Span| {
            other.name == "deliver"
                && is_of(other, &gateway)
                && ["stream", "seq"].iter().all(|key| other.attributes[*key] == delivered.attributes[*key])
        };
        assert_eq!(collector.spans().iter().filter(same).count(), 1, "{delivered:?}");
    }
}

#[tokio::test]
async fn cluster_a_callers_trace_and_the_id_of_its_request_are_taken_over() {
    let collector = FakeCollector::start().await;
    let world = World::with(|options| {
        traced(options, &collector).nodes(1, 1, 0).setting("telemetry.sample_ratio", "0")
    })
    .await;
    let alex = world.person(1, "alex").await;
    let room = alex.room("Lunch", &[]).await;
    let ask = |body: &'static str, parent: &'static str| {
        reqwest::Client::new()
            .post(format!("{}/v1/rooms/{room}/messages", world.cluster.api_url(1)))
            .bearer_auth(alex.api.access_token().expect("signed in"))
            .header("traceparent", parent)
            .header("x-request-id", body)
            .json(&json!({ "body": body }))
            .send()
    };
    let unrecorded = "00-11111111111111111111111111111111-b7ad6b7169203331-00";
    assert_eq!(ask("unrecorded", unrecorded).await.expect("an answer").status(), 201);
    let recorded = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let answer = ask("recorded", recorded).await.expect("an answer");
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-request-id"]),
        (201, &"recorded".parse().unwrap())
    );

    let request =
        collector.span(|span| span.trace == "0af7651916cd43dd8448eb211c80319c" && span.kind == 2).await;
    assert_eq!(request.parent, "b7ad6b7169203331");
    collector.span(|span| span.name == "append").await;
    let recorded = collector.spans().iter().all(|span| span.trace == request.trace);
    assert!(recorded, "nothing else is recorded: {:?}", collector.spans());
    for (id, trace) in
        [("recorded", request.trace.as_str()), ("unrecorded", "11111111111111111111111111111111")]
    {
        let line = line(&world, "api-1", |line| line["request_id"] == id).await;
        assert_eq!(line["trace_id"], trace, "{line}");
    }

    // What is said of a connection has its id, and that of the request it began as.
    let stream = Sse::open(&alex.api, None, None).await;
    drop(stream);
    let mut wire = world.hello(&alex, 1, Encoding::Json).await;
    let connection = wire.hello.connection_id.to_string();
    wire.say_text("no frame").await;
    assert_eq!(wire.closed().await, 4001);
    let ended = line(&world, "gateway-1", |line| line["message"] == "a connection ended").await;
    assert_eq!((&ended["connection_id"], &ended["code"]), (&json!(connection), &json!(4001)), "{ended}");
    assert!(ended["request_id"].is_string(), "{ended}");
}

#[tokio::test]
async fn cluster_work_on_tasks_and_pushes_is_traced() {
    let collector = FakeCollector::start().await;
    let world = World::with(|options| {
        traced(pushing(options), &collector)
            .nodes(1, 0, 1)
            .setting("outbound.allow_http", "true")
            .setting("outbound.allow_private", "127.0.0.0/8")
    })
    .await;
    let (alex, sam) = (world.person(1, "alex").await, world.person(1, "sam").await);

    // A push belongs to the trace of the message that it tells of.
    let service = FakePush::start().await;
    let phone = alex.new_device(DeviceKind::Mobile).await;
    subscribe(&alex, phone, &service.subscribe()).await;
    let dm = sam.api.create_room(&NewRoom::dm(alex.id), None).await.expect("a dm").id;
    sam.says(dm, "are you there?").await;
    timeout(PATIENCE, service.next()).await.expect("a push");
    let push = collector.span(|span| span.name == "push").await;
    let sent = collector.span(|span| span.name == "POST /v1/rooms/{id}/messages").await;
    assert_eq!((&push.trace, &push.parent), (&sent.trace, &sent.id));
    assert_eq!((push.attributes["outcome"].as_str(), push.failed, push.kind), ("sent", false, 3));

    // A webhook is told the trace of the run that calls it.
    let receiver = Receiver::start().await;
    let action = Action::Webhook { url: receiver.url.clone(), body: None };
    let task = make(&*world.store().await, alex.id, settings("call", action)).await;
    let (status, run) = alex.rest("POST", &format!("/v1/tasks/{task}/run"), None).await;
    assert_eq!(status, 202, "{run}");
    let call = receiver.call().await;
    let place = call.header("traceparent").to_owned();
    assert!(call.answer(200, "done"));
    let webhook = collector.span(|span| span.name == "webhook").await;
    assert_eq!(place, format!("00-{}-{}-01", webhook.trace, webhook.id));
    let work = collector.span(|span| span.name == "task run").await;
    assert_eq!((&webhook.parent, &webhook.trace), (&work.id, &work.trace));
    let asked = collector.span(|span| span.name == "POST /v1/tasks/{id}/run").await;
    assert_eq!((&work.parent, &work.trace), (&asked.id, &asked.trace), "who asked for it began it");
    assert_eq!(
        (&work.attributes["run"], work.attributes["outcome"].as_str()),
        (&run["id"].as_str().unwrap().to_owned(), "succeeded")
    );
    assert_eq!(work.resource["service.name"], "switchboard-worker");
    let over = line(&world, "worker-1", |line| line["message"] == "a run of a task is over").await;
    assert_eq!((&over["run"], &over["trace_id"]), (&run["id"], &json!(work.trace)));
}

#[tokio::test]
async fn cluster_a_collector_in_trouble_disturbs_nobody() {
    let collector = FakeCollector::start().await;
    collector.behave(Behaviour::Silence);
    let mut world = World::with(|options| traced(options, &collector)).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut desk = world.connect(&sam, 2).await;
    for behaviour in [
        Behaviour::Silence,
        Behaviour::Babble,
        Behaviour::Answer(503, Vec::new()),
        Behaviour::Answer(200, vec![0xff; 1 << 20]),
    ] {
        collector.behave(behaviour);
        for n in 0..50 {
            alex.says(room, &format!("message {n}")).await;
            desk.event_of("message.created").await;
        }
    }
    collector.behave(Behaviour::Silence);
    alex.says(room, "the last").await;
    let began = Instant::now();
    assert!(world.cluster.stop("api-1").await.success());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
