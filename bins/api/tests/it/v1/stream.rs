//! `/v1/stream`: what comes beside the events of the log.

use std::time::Duration;

use domain::run::FinishStatus;
use serde_json::{Value, json};

use crate::app::{Person, TestApp};

/// An open stream, read message by message.
struct Stream {
    response: reqwest::Response,
    bytes: Vec<u8>,
}

/// One message: its id, when it has one, and its frame.
#[derive(Debug)]
struct Message {
    id: Option<String>,
    frame: Value,
}

impl Stream {
    async fn open(app: &TestApp, person: &Person, last_id: Option<&str>) -> Self {
        let mut request =
            reqwest::Client::new().get(format!("{}/v1/stream", app.url)).bearer_auth(&person.token);
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, bytes: Vec::new() }
    }

    async fn next(&mut self) -> Message {
        loop {
            let end = self.bytes.windows(2).position(|two| two == b"\n\n");
            let Some(end) = end else {
                let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk());
                let chunk = chunk.await.expect("a message").unwrap().expect("a stream that goes on");
                self.bytes.extend_from_slice(&chunk);
                continue;
            };
            let message: Vec<u8> = self.bytes.drain(..end + 2).collect();
            let text = String::from_utf8(message).unwrap();
            let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let Some(data) = field("data: ") {
                return Message { id: field("id: "), frame: serde_json::from_str(&data).unwrap() };
            }
        }
    }

    /// The next message with this frame that is as wanted; and what came before it.
    async fn find(&mut self, op: &str, wanted: impl Fn(&Value) -> bool) -> (Message, Vec<Message>) {
        let mut before = Vec::new();
        loop {
            let message = self.next().await;
            if message.frame["op"] == op && wanted(&message.frame) {
                return (message, before);
            }
            before.push(message);
        }
    }
}

#[tokio::test]
async fn runs_tool_calls_and_agents_are_seen_beside_the_events_and_move_no_cursor() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (room, agent) = app.group_with_agent(&alex, &[&sam]).await;
    let mut stream = Stream::open(&app, &alex, None).await;
    stream.find("live", |_| true).await;

    let consumer = app.consumer(&agent).await;
    let online = |frame: &Value| frame["agent_id"] == agent.id.as_str() && frame["status"] == "online";
    let (presence, _) = stream.find("presence", online).await;
    assert!(presence.id.is_none(), "{presence:?}");

    let run = app.ask(&sam, &room, &agent).await;
    let epoch = consumer.start(&run).await;
    let of_run = |frame: &Value| frame["run_id"] == run.as_str();
    let (created, _) =
        stream.find("event", |frame| frame["kind"] == "run.created" && of_run(&frame["data"])).await;
    let (first, _) = stream.find("run", of_run).await;
    assert!(first.frame["doc"].is_object() && first.id.is_none(), "{first:?}");
    let item = json!({ "id": "a", "type": "text", "text": "Soup." });
    consumer.patch(&run, epoch, &json!([{ "op": "add", "path": "/items/-", "value": item }])).await;
    let written = |frame: &Value| of_run(frame) && frame.to_string().contains("Soup.");
    let (written, _) = stream.find("run", written).await;
    assert!(written.id.is_none(), "{written:?}");

    let body = json!({ "tool": "open_page", "args": {}, "user_id": alex.id });
    let call =
        app.post(&format!("/v1/runs/{run}/tool-calls")).bearer(&agent.token).json(&body).expect(201).await;
    let (asked, before) = stream.find("tool_call", |frame| frame["call_id"] == call.body["id"]).await;
    assert_eq!((&asked.frame["tool"], &asked.frame["room_id"]), (&"open_page".into(), &room.as_str().into()));
    assert!(asked.id.is_none(), "{asked:?}");
    let called = before.iter().find(|message| message.frame["kind"] == "tool.called").expect("the event");
    assert_eq!(called.frame["data"]["deadline"], asked.frame["deadline"]);
    drop(stream);

    // Resumed from before the call: the event comes again, and what is around it as it is now.
    let mut stream = Stream::open(&app, &alex, created.id.as_deref()).await;
    // Whether the run is shown before `live` or after is not said.
    let mut seen = Vec::new();
    while !["live", "run"].iter().all(|op| seen.iter().any(|message: &Message| message.frame["op"] == *op)) {
        seen.push(stream.next().await);
    }
    let count = |op: &str| seen.iter().filter(|message| message.frame["op"] == op).count();
    // Whether people were seen to leave and come meanwhile depends on the machine.
    let agents = seen
        .iter()
        .filter(|message| message.frame["op"] == "presence" && message.frame["agent_id"].is_string());
    assert_eq!((agents.count(), count("tool_call"), count("run")), (1, 1, 1), "{seen:#?}");
    assert!(seen.iter().any(|message| message.frame == called.frame), "{seen:#?}");
    let whole = seen.iter().find(|message| message.frame["op"] == "run").expect("the run");
    assert_eq!((&whole.frame["doc"]["items"], &whole.frame["status"]), (&json!([item]), &"waiting".into()));
    drop(stream);

    // Resumed from the event, it does not; what waits still does.
    let mut stream = Stream::open(&app, &alex, called.id.as_deref()).await;
    let (_, before) = stream.find("live", |_| true).await;
    assert!(before.iter().all(|message| message.frame["kind"] != "tool.called"), "{before:#?}");
    assert!(before.iter().any(|message| message.frame["op"] == "tool_call"), "{before:#?}");
    consumer.finish(&run, epoch, FinishStatus::Succeeded, None).await;
    let (over, _) = stream.find("run", |frame| of_run(frame) && frame["status"] == "succeeded").await;
    assert!(over.id.is_none(), "{over:?}");
    drop(stream);
    app.stop().await;
}

#[tokio::test]
async fn streams_are_for_people() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let agent = app.agent(&alex, "helper").await;
    app.get("/v1/stream").bearer(&agent.token).refused(403, "forbidden").await;
    app.stop().await;
}
