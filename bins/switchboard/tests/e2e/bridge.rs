//! The bridge to a language model, through the whole stack: a process that talks to nodes and to a model of the test.

use std::fs;
use std::time::Duration;

use domain::RunId;
use protocol::ClientFrame;
use protocol::ServerFrame;
use protocol::frame::{RawJson, ToolOutcome, ToolResult};
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use testkit::model::{Answer, FakeModel};
use tokio::time::{sleep, timeout};

use crate::agents::{Running, is_over, switchboard};
use crate::world::{PATIENCE, Person, World, in_both_worlds, of_many};

in_both_worlds!(
    the_bridge_holds_a_conversation,
    the_bridge_is_cancelled_fails_clearly_and_calls_tools,
    nodes_die_in_turn_under_an_answer_and_it_is_whole_in_the_end,
);

const TOOLS: &str = r#"[{"type":"function","function":{"name":"open_page","parameters":{"type":"object"}}}]"#;

/// A room with Alex, Sam and an agent that asks a model.
struct Stage {
    world: World,
    alex: Person,
    sam: Person,
    room: domain::RoomId,
    model: FakeModel,
    bridge: Running,
    _dir: tempfile::TempDir,
}

impl Stage {
    async fn set(options: ClusterOptions) -> Self {
        let world = World::on(options).await;
        let (alex, sam) = world.alex_and_sam().await;
        let room = alex.room("Lunch", &[&sam]).await;
        let robot = alex.robot("helper").await;
        alex.invite(&robot, room).await;
        let model = FakeModel::start().await;
        let dir = tempfile::tempdir().expect("a directory");
        let tools = dir.path().join("tools.json");
        fs::write(&tools, TOOLS).expect("written");
        let arguments =
            format!("agent --openai-base-url {} --model m --tools {}", model.url(), tools.display());
        let mut command = switchboard(&world, &arguments);
        command.args(["--system", "You are Helper."]).env("OPENAI_API_KEY", "sk-secret");
        let bridge = Running::start(command, &robot, "(@helper, agent ").await;
        Self { world, alex, sam, room, model, bridge, _dir: dir }
    }

    /// The node that the agent is connected to.
    async fn holder(&self) -> String {
        if !self.world.has_many_nodes() {
            return self.world.cluster.names()[0].to_owned();
        }
        let holder = "SELECT nodes.name FROM agent_consumer_cursors JOIN nodes ON nodes.id = node_id";
        let name = self.world.sql(holder).await.remove(0).remove(0).expect("a name");
        // What nobody names is called by role and address.
        let address = name.trim_start_matches("gateway ");
        let number = (1..=2).find(|number| self.world.cluster.gateway_url(*number).contains(address));
        format!("gateway-{}", number.expect("a gateway"))
    }

    /// Waits until a run is stored like this.
    async fn until_stored(&self, run: RunId, is_it: impl Fn(&Value) -> bool) -> Value {
        let looking = async {
            loop {
                let stored = self.alex.run(run).await;
                if is_it(&stored) {
                    break stored;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, looking).await.expect("stored in time")
    }

    async fn asked(&self) -> Value {
        let asked = timeout(PATIENCE, self.model.asked()).await.expect("the model is asked");
        assert_eq!(asked.authorization, "Bearer sk-secret");
        asked.body
    }
}

async fn the_bridge_holds_a_conversation(options: ClusterOptions) {
    let stage = Stage::set(options).await;
    let Stage { world, alex, sam, room, model, .. } = &stage;
    let mut watcher = world.connect(sam, 1).await;

    model.answer(Answer::stream().reasoning("Hm.").text("At ").text("noon.").done());
    alex.says(*room, "@helper when is soup?").await;
    let (run, watched) = watcher.until(is_over).await;
    assert_eq!(watched.status, "succeeded");
    let items = json!([
        { "id": "reasoning-1", "type": "reasoning", "text": "Hm." },
        { "id": "text-1", "type": "text", "text": "At noon." },
    ]);
    assert_eq!(watched.document.value()["items"], items);
    assert_eq!(alex.run(run).await["doc"]["items"], items);
    let system = json!({ "role": "system", "content": "You are Helper." });
    let body = stage.asked().await;
    assert_eq!(body["messages"], json!([system, { "role": "user", "content": "when is soup?" }]));
    assert_eq!(body["tools"][0]["function"]["name"], "open_page");

    model.answer(Answer::says("Of leeks."));
    sam.says(*room, "and of what?").await;
    alex.says(*room, "@helper of what is it?").await;
    let (_, watched) = watcher.until(is_over).await;
    assert_eq!(watched.text(), "Of leeks.");
    let messages = json!([
        system,
        { "role": "user", "content": "alex: when is soup?" },
        { "role": "assistant", "content": "At noon." },
        { "role": "user", "content": "sam: and of what?\nalex: of what is it?" },
    ]);
    assert_eq!(stage.asked().await["messages"], messages);
    stage.bridge.stop().await;
}

async fn the_bridge_is_cancelled_fails_clearly_and_calls_tools(options: ClusterOptions) {
    let stage = Stage::set(options).await;
    let Stage { world, alex, sam, room, model, .. } = &stage;
    let mut browser = world.connect(sam, 1).await;

    // Stopped by somebody on another node: the model sees its connection closed.
    model.answer(Answer::stream().text("At ").stall());
    sam.says(*room, "@helper when is soup?").await;
    let (run, _) = browser.until(|watched| watched.text() == "At ").await;
    sam.api.cancel_run(run).await.expect("one's own run");
    timeout(PATIENCE, model.until_gone(1)).await.expect("the model is left");
    let mut status = String::new();
    while status != "cancelled" {
        status = browser.run_frame(run).await.status;
    }

    // Refused, and cut off.
    for (answer, text, error) in [
        (
            Answer::refusal(401, &[], "bad key sk-secret"),
            "",
            "the model's server does not accept the key (401)",
        ),
        (Answer::stream().text("At ").cut(), "At ", "the model's answer was cut off"),
    ] {
        model.answer(answer);
        sam.says(*room, "@helper and now?").await;
        let (run, watched) = browser.until(is_over).await;
        assert_eq!((watched.status.as_str(), watched.text()), ("failed", text));
        assert_eq!(alex.run(run).await["error"], error);
    }
    // Busy for a moment.
    model.answer(Answer::refusal(429, &[("retry-after", "0")], "slow down"));
    model.answer(Answer::says("At noon."));
    sam.says(*room, "@helper and now?").await;
    let (_, watched) = browser.until(is_over).await;
    assert_eq!((watched.status.as_str(), watched.text()), ("succeeded", "At noon."));

    // A tool in the browser of whoever asks.
    model.answer(
        Answer::stream().tool_call(0, "c1", "open_page").arguments(0, r#"{"url":"x"}"#).finish("tool_calls"),
    );
    model.answer(Answer::says("Leek soup."));
    sam.says(*room, "@helper what kind?").await;
    let call = browser
        .find(|frame| match frame {
            ServerFrame::ToolCall(call) => Some(call.clone()),
            _ => None,
        })
        .await;
    assert_eq!((call.tool.as_str(), call.args.get()), ("open_page", r#"{"url":"x"}"#));
    let outcome = ToolOutcome::Result(RawJson::new(r#"{"title":"Leek soup"}"#).expect("JSON"));
    browser.say(&ClientFrame::ToolResult(ToolResult { call_id: call.call_id, outcome })).await;
    let run = RunId(call.run_id);
    let items = loop {
        let stored = alex.run(run).await;
        if stored["status"] == "succeeded" {
            break stored["doc"]["items"].clone();
        }
        browser.run_frame(run).await;
    };
    assert_eq!((&items[0]["state"], &items[1]["text"]), (&json!("done"), &json!("Leek soup.")));
    let last = loop {
        let messages = stage.asked().await["messages"].clone();
        if let Some(last) =
            messages.as_array().and_then(|all| all.last()).filter(|last| last["role"] == "tool")
        {
            break last.clone();
        }
    };
    assert_eq!(last, json!({ "role": "tool", "tool_call_id": "c1", "content": "{\"title\":\"Leek soup\"}" }));
    stage.bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_gateway_dies_in_the_middle_of_an_answer_and_nothing_is_lost() {
    let mut stage = Stage::set(of_many().await).await;
    let mut watcher = stage.world.connect(&stage.alex, 2).await;
    let words: Vec<String> = (0..200).map(|word| format!("word {word}, ")).collect();
    let mut answer = Answer::stream();
    for (number, word) in words.iter().enumerate() {
        answer = answer.text(word);
        if number % 50 == 49 {
            answer = answer.hold();
        }
    }
    stage.model.answer(answer.text("done.").done());
    stage.alex.says(stage.room, "@helper tell me all").await;
    let begun = words[..50].concat();
    let (run, mut watched) = watcher.until(|watched| watched.text() == begun).await;

    // The first gateway of its list: it is there.
    assert_eq!(stage.holder().await, "gateway-1");
    stage.world.cluster.kill("gateway-1").await;
    for _ in 0..4 {
        stage.model.release();
    }
    let whole = format!("{}done.", words.concat());
    while !is_over(&watched) {
        watched.take(&watcher.run_frame(run).await);
        assert!(whole.starts_with(watched.text()), "{}", watched.text());
    }
    assert_eq!((watched.status.as_str(), watched.text()), ("succeeded", whole.as_str()));
    let stored = stage.alex.run(run).await;
    assert_eq!(stored["doc"].to_string(), watched.document.to_json());
    assert_eq!(stored["epoch"], 1, "it went on, and did not begin anew");
    stage.bridge.stop().await;
}

/// With others, the agent goes on at another node while its own is away; alone, once it is back.
async fn nodes_die_in_turn_under_an_answer_and_it_is_whole_in_the_end(options: ClusterOptions) {
    const PARTS: usize = 5;
    let mut stage = Stage::set(options).await;
    let there_are_others = stage.world.has_many_nodes();
    let part = |number: usize| format!("part {number}: {}\n", "word ".repeat(300));
    let mut answer = Answer::stream();
    for number in 0..PARTS {
        answer = answer.text(&part(number)).hold();
    }
    stage.model.answer(answer.done());
    let body = "@helper tell me all";
    let mut watcher = stage.world.connect(&stage.alex, 2).await;
    stage.alex.says(stage.room, body).await;
    let (run, _) = watcher.until(|watched| watched.text() == part(0)).await;
    let mut text = part(0);
    for number in 1..PARTS {
        let node = stage.holder().await;
        stage.world.cluster.kill(&node).await;
        // While it has no connection.
        stage.model.release();
        text.push_str(&part(number));
        if !there_are_others {
            stage.world.cluster.start_again(&node).await;
        }
        stage.until_stored(run, |stored| stored["doc"]["items"][0]["text"] == text).await;
        if there_are_others {
            stage.world.cluster.start_again(&node).await;
        }
    }
    stage.model.release();
    let stored = stage.until_stored(run, |stored| stored["status"] == "succeeded").await;
    assert_eq!(stored["doc"]["items"], json!([{ "id": "text-1", "type": "text", "text": text }]));
    assert_eq!(stored["epoch"], 1, "it went on, and never began anew");
    stage.bridge.stop().await;
}
