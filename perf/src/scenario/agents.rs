//! Scenarios of agents: the live box, and tools in browsers.

use std::time::{Duration, Instant};

use clap::Args;
use client::api::NewAgent;
use client::{Api, Credential, Socket};
use domain::{DeviceKind, RunId};
use protocol::frame::{
    CallTool, Cursors, Identify, RawJson, RunChange, RunPatch, RunStart, Slot, ToolOutcome, ToolResult,
};
use protocol::{ClientFrame, Encoding, ServerFrame};
use serde::{Deserialize, Serialize};

use super::micros;
use crate::Failure;
use crate::cluster::Cluster;
use crate::people::{self, Person};
use crate::report::{Report, histogram};
use crate::whole::{CLIENTS, COUNT, RATE, SECONDS, whole};

/// What of the live box is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct LiveBox {
    /// Words that come one at a time.
    #[arg(long, default_value_t = 200, value_parser = whole::<u64>(COUNT))]
    words: u64,
    /// Words a second after that.
    #[arg(long, default_value_t = 100, value_parser = whole::<u32>(RATE))]
    rate: u32,
    /// Connections that watch.
    #[arg(long, default_value_t = 50, value_parser = whole::<usize>(CLIENTS))]
    watchers: usize,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10, value_parser = whole::<u32>(SECONDS))]
    seconds: u32,
}

/// What of tools is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Tools {
    /// Calls that are made.
    #[arg(long, default_value_t = 1000, value_parser = whole::<u32>(COUNT))]
    calls: u32,
}

/// A run that a consumer on gateway 1 works on.
struct Work {
    alex: Person,
    /// The agent, at the second api node.
    agent: Api,
    consumer: Socket,
    run: RunId,
    epoch: u64,
}

async fn work(cluster: &Cluster) -> Result<Work, Failure> {
    let alex = cluster.person(0, DeviceKind::Web).await?;
    let room = people::room(&[&alex]).await?;
    let made = alex.api.create_agent(&NewAgent::new(people::handle()), None).await?;
    alex.api.add_agent(room, made.agent.id).await?;
    let token = made.token.ok_or("a new agent without a token")?;
    let agent = alex.api.at(&cluster.api[1].url)?.with_token(token.clone());
    let mut consumer =
        Socket::connect(&cluster.gateway[0].url, &Credential::Bearer(token), Encoding::Json).await?;
    consumer
        .send(&ClientFrame::Identify(Identify {
            slot: Slot::Consumer("perf".into()),
            cursors: Cursors::default(),
            log_epoch: None,
        }))
        .await?;
    while consumer.receive().await? != ServerFrame::Live {}
    let run = alex.api.request_run(room, made.agent.id, &"measure".into(), None).await?.id;
    consumer.send(&ClientFrame::RunStart(RunStart { run_id: run.0 })).await?;
    let epoch = loop {
        match consumer.receive().await? {
            ServerFrame::Run(started) if started.run_id == run.0 => break started.epoch,
            ServerFrame::Error(error) => return Err(error.detail.into()),
            _ => {}
        }
    };
    let item = r#"[{"op":"add","path":"/items/-","value":{"id":"a","type":"text","text":""}}]"#;
    patch(&mut consumer, run, epoch, item.into()).await?;
    Ok(Work { alex, agent, consumer, run, epoch })
}

async fn patch(consumer: &mut Socket, run: RunId, epoch: u64, ops: String) -> Result<(), Failure> {
    let ops = RawJson::new(ops)?;
    Ok(consumer.send(&ClientFrame::RunPatch(RunPatch { run_id: run.0, epoch, ops })).await?)
}

/// One more word.
fn word(text: &str) -> String {
    format!(r#"[{{"op":"append","path":"/items/0/text","value":"{text} "}}]"#)
}

/// The words of the next patch.
async fn words(socket: &mut Socket) -> Result<Vec<u64>, Failure> {
    #[derive(Deserialize)]
    struct Op {
        op: String,
        value: serde_json::Value,
    }
    loop {
        let ServerFrame::Run(run) = socket.receive().await? else { continue };
        let RunChange::Patch { ops, .. } = run.change else { continue };
        let ops: Vec<Op> = serde_json::from_str(ops.get())?;
        let appended = ops.iter().filter(|op| op.op == "append").filter_map(|op| op.value.as_str());
        let words: Vec<u64> =
            appended.flat_map(str::split_whitespace).map(str::parse).collect::<Result<_, _>>()?;
        if !words.is_empty() {
            return Ok(words);
        }
    }
}

/// A word of a run on gateway 1 to its watchers on gateway 2: one at a time at rest, then at a steady rate.
pub(crate) async fn live_box(
    cluster: &Cluster,
    settings: &LiveBox,
    report: &mut Report,
) -> Result<(), Failure> {
    let LiveBox { words: alone, rate, watchers, seconds } = *settings;
    let Work { alex, mut consumer, run, epoch, .. } = work(cluster).await?;
    let mut watching = Vec::new();
    for n in 0..watchers {
        let device = client::api::NewDevice { kind: DeviceKind::Web, name: format!("watcher {n}") };
        let device = alex.api.add_device(&device).await?.id;
        watching.push(people::connect(&alex, &cluster.gateway[1].url, device).await?);
    }
    eprintln!("{alone} words, one at a time ...");
    let mut at_rest = histogram();
    let mut first = watching.pop().ok_or("somebody must watch")?;
    for number in 0..alone {
        // Longer than the pause between two flushes: the run is at rest.
        tokio::time::sleep(Duration::from_millis(60)).await;
        let sent = Instant::now();
        patch(&mut consumer, run, epoch, word(&number.to_string())).await?;
        while !words(&mut first).await?.contains(&number) {}
        at_rest.record(micros(sent.elapsed()))?;
    }
    let what = "word on gateway 1 to frame on gateway 2, one at a time";
    report.latencies("at_rest", what, &at_rest);
    eprintln!("{rate} words/s to {watchers} watchers for {seconds} s ...");
    watching.push(first);

    let start = Instant::now();
    let total = u64::from(rate * seconds);
    let mut receiving = Vec::new();
    for mut socket in watching {
        receiving.push(tokio::spawn(async move {
            let mut latencies = histogram();
            while latencies.len() < total {
                for due in words(&mut socket).await? {
                    // Small numbers are those of the first part.
                    if due >= alone {
                        latencies.record(micros(start.elapsed()).saturating_sub(due).max(1))?;
                    }
                }
            }
            Ok::<_, Failure>(latencies)
        }));
    }
    let begin = Instant::now() + Duration::from_millis(10);
    for number in 0..rate * seconds {
        let due = begin + Duration::from_secs(1) / rate * number;
        tokio::time::sleep_until(due.into()).await;
        let since_start = micros(due.duration_since(start));
        patch(&mut consumer, run, epoch, word(&since_start.to_string())).await?;
    }
    let mut latencies = histogram();
    for one in receiving {
        latencies.add(one.await??)?;
    }
    let what =
        format!("{rate} words/s of one run to {watchers} watchers on another gateway, flushed every 50 ms");
    report.latencies("steady", &what, &latencies);
    Ok(())
}

/// A tool is called on gateway 1 and answered on gateway 2, one at a time: from the call to the result.
pub(crate) async fn tools(
    cluster: &Cluster,
    &Tools { calls }: &Tools,
    report: &mut Report,
) -> Result<(), Failure> {
    let Work { alex, agent, mut consumer, run, epoch } = work(cluster).await?;
    let browser = people::connect(&alex, &cluster.gateway[1].url, alex.device).await?;
    let (outgoing, mut incoming) = browser.split();
    let answering = tokio::spawn(async move {
        while let Ok(frame) = incoming.receive().await {
            if let ServerFrame::ToolCall(call) = frame
                && let Ok(result) = RawJson::new("true")
            {
                let outcome = ToolOutcome::Result(result);
                let result = ToolResult { call_id: call.call_id, outcome };
                drop(outgoing.send(&ClientFrame::ToolResult(result)).await);
            }
        }
    });
    eprintln!("{calls} calls by socket, then {calls} by REST ...");
    let mut latencies = histogram();
    for number in 0..calls {
        let called = Instant::now();
        let call = CallTool {
            run_id: run.0,
            epoch,
            tool: "measure".into(),
            args: RawJson::new("{}")?,
            user_id: alex.id.0,
            timeout: None,
            nonce: None,
        };
        consumer.send(&ClientFrame::ToolCall(call)).await?;
        loop {
            match consumer.receive().await? {
                ServerFrame::Event(event) if event.kind == "tool.resolved" => break,
                ServerFrame::Error(error) => return Err(error.detail.into()),
                _ => {}
            }
        }
        if number >= calls / 10 {
            latencies.record(micros(called.elapsed()))?;
        }
    }
    let what = "tool called on gateway 1, answered on gateway 2, result on gateway 1";
    report.latencies("socket", what, &latencies);
    let mut latencies = histogram();
    for number in 0..calls {
        let called = Instant::now();
        let wait = Duration::from_secs(10);
        let answered = agent.call_tool(run, alex.id, "measure", &serde_json::json!({}), wait).await?;
        if answered.status != client::api::ToolStatus::Answered {
            return Err(format!("a call is {:?}", answered.status).into());
        }
        if number >= calls / 10 {
            latencies.record(micros(called.elapsed()))?;
        }
    }
    answering.abort();
    report.latencies("rest", "the same by REST on api 2 with ?wait=", &latencies);
    Ok(())
}
