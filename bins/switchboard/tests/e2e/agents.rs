//! The agents that come with the product, as processes: the demo agent, and the one of the guide.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use localpg::tether::{self, OnParentDeath};
use protocol::frame::{Autocomplete, RawJson, ToolOutcome, ToolResult};
use protocol::{ClientFrame, ServerFrame};
use rustix::process::{Pid, Signal, kill_process};

use testkit::cluster::ClusterOptions;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::program::program;
use crate::robot::{Robot, Watched, run_of};
use crate::wire::Wire;
use crate::world::{PATIENCE, World, in_both_worlds};

in_both_worlds!(
    the_demo_agent_repeats_counts_asks_the_browser_and_completes,
    the_agent_of_the_guide_runs_as_it_stands_there,
);

/// An agent's process. It ends with the test.
pub(crate) struct Running {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts a program as this robot, and waits until it says this.
    pub(crate) async fn start(mut command: Command, robot: &Robot, ready: &str) -> Self {
        command
            .env("SWITCHBOARD_AGENT_TOKEN", &robot.token)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = tether::spawn(command).await.expect("the program runs");
        let mut out = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = timeout(PATIENCE, out.next_line()).await.expect("in time").expect("readable");
        let line = line.unwrap_or_default();
        assert!(line.contains(ready), "{line:?}");
        Self { child, out }
    }

    /// ctrl-c, and the end of it.
    pub(crate) async fn stop(mut self) {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("it runs");
        kill_process(pid, Signal::INT).expect("told");
        let ended = timeout(PATIENCE, self.child.wait()).await.expect("in time").expect("its end");
        assert!(ended.success(), "{ended}");
        assert_eq!(self.out.next_line().await.expect("readable"), None);
    }
}

/// `switchboard` with these arguments, at all gateways of a world.
pub(crate) fn switchboard(world: &World, arguments: &str) -> Command {
    let mut command = tether::command(env!("CARGO_BIN_EXE_switchboard"), OnParentDeath::Terminate);
    for (name, value) in program("").get_envs() {
        if value.is_none() {
            command.env_remove(name);
        }
    }
    let gateways = format!("{},{}", world.cluster.gateway_url(1), world.cluster.gateway_url(2));
    command.args(arguments.split_whitespace());
    command.args(["--url", &world.cluster.api_url(2), "--gateway-url", &gateways]);
    command
}

impl Wire {
    /// Follows the next run that is made, until it looks like this.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&Watched) -> bool) -> (domain::RunId, Watched) {
        let run = run_of(&self.event_of("run.created").await);
        let mut watched = Watched::default();
        while !is_it(&watched) {
            watched.take(&self.run_frame(run).await);
        }
        (run, watched)
    }
}

pub(crate) fn is_over(watched: &Watched) -> bool {
    watched.status.parse().is_ok_and(domain::RunStatus::is_final)
}

async fn the_demo_agent_repeats_counts_asks_the_browser_and_completes(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, _sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[]).await;
    let robot = alex.robot("demo").await;
    alex.invite(&robot, room).await;
    let mut browser = world.connect(&alex, 2).await;
    let ready = format!("(@demo, agent {}) works", robot.id);
    let demo = Running::start(switchboard(&world, "demo-agent"), &robot, &ready).await;

    alex.says(room, "@demo good morning").await;
    let (_, watched) = browser.until(is_over).await;
    assert!(
        watched.status == "succeeded" && watched.text().contains("You said: good morning"),
        "{watched:?}"
    );

    alex.says(room, "@demo count to 1000 slowly").await;
    let (run, _) = browser.until(|watched| watched.text().starts_with("1, 2, ")).await;
    alex.api.cancel_run(run).await.expect("one's own run");
    let mut status = String::new();
    while status != "cancelled" {
        status = browser.run_frame(run).await.status;
    }

    alex.says(room, "@demo what time is it?").await;
    let call = browser
        .find(|frame| match frame {
            ServerFrame::ToolCall(call) => Some(call.clone()),
            _ => None,
        })
        .await;
    assert_eq!(call.tool, "time_zone");
    let result = RawJson::new(r#"{"time_zone":"Europe/Berlin"}"#).expect("JSON");
    let outcome = ToolOutcome::Result(result);
    browser.say(&ClientFrame::ToolResult(ToolResult { call_id: call.call_id, outcome })).await;
    let finished = browser.event_of("run.finished").await;
    let items = alex.run(run_of(&finished)).await["doc"]["items"].clone();
    assert_eq!(items[0]["state"], "done");
    assert!(items[1]["text"].as_str().expect("text").ends_with("where you are (Europe/Berlin)."), "{items}");

    let question = Autocomplete {
        request_id: Uuid::now_v7(),
        agent_id: robot.id.0,
        room_id: room.0,
        command: "demo".to_owned(),
        input: "wh".to_owned(),
    };
    browser.say(&ClientFrame::Autocomplete(question.clone())).await;
    let choices = browser
        .find(|frame| match frame {
            ServerFrame::Choices(choices) if choices.request_id == question.request_id => {
                Some(choices.clone())
            }
            _ => None,
        })
        .await;
    let choices: serde_json::Value = serde_json::from_str(choices.choices.get()).expect("JSON");
    assert_eq!(choices[0]["value"], "what time is it");
    demo.stop().await;
}

async fn the_agent_of_the_guide_runs_as_it_stands_there(options: ClusterOptions) {
    let guide = include_str!("../../../../docs/agents.md");
    let (_, rest) = guide.split_once("```python\n").expect("an agent in Python");
    let (program, _) = rest.split_once("```").expect("its end");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("agent.py");
    fs::write(&file, program).expect("written");

    let world = World::on(options).await;
    let (alex, _sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut watcher = world.connect(&alex, 1).await;
    let mut python = tether::command("python3", OnParentDeath::Terminate);
    python.arg(&file).arg(world.cluster.gateway_url(2));
    let _running = Running::start(python, &robot, "ready").await;

    alex.says(room, "@helper good morning").await;
    let (run, watched) = watcher.until(is_over).await;
    assert_eq!((watched.status.as_str(), watched.text()), ("succeeded", "You said: @helper good morning "));
    assert_eq!(alex.run(run).await["doc"].to_string(), watched.document.to_json());
    let long = "word ".repeat(10_000);
    let run = alex.ask(&robot, room, &long).await;
    watcher.until(|watched| watched.text().contains("word word ")).await;
    alex.api.cancel_run(run).await.expect("one's own run");
    let mut status = String::new();
    while status != "cancelled" {
        status = watcher.run_frame(run).await.status;
    }
    // What it was given is done with.
    let cursor =
        "SELECT 1 FROM agent_consumer_cursors JOIN streams ON streams.id = agent_id WHERE cursor = head";
    let waiting = async {
        while world.sql(cursor).await.is_empty() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("acknowledged");
}
