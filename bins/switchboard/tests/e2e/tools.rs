//! Tools in browsers, called at one node and answered at another.

use domain::{DeviceKind, RunId};
use protocol::frame::{CallTool, ToolOutcome, ToolResult, WireDuration};
use protocol::{ClientFrame, ServerFrame};
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use crate::robot::{Robot, raw};
use crate::wire::{Wire, data};
use crate::world::{PATIENCE, Person, World, in_both_worlds};

in_both_worlds!(
    a_tool_is_called_by_rest_and_by_socket_and_answered_elsewhere,
    of_two_answers_to_each_of_five_hundred_calls_one_counts,
    who_was_removed_from_the_room_is_asked_nothing_any_more,
    a_call_that_nobody_answers_expires_and_ends_with_its_run,
);

impl Wire {
    /// The next call of a tool.
    async fn tool_call(&mut self) -> protocol::frame::ToolCall {
        self.find(|frame| match frame {
            ServerFrame::ToolCall(call) => Some(call.clone()),
            _ => None,
        })
        .await
    }

    fn answer(&self, call: Uuid, result: &Value) -> impl Future<Output = ()> + use<> {
        let outcome = ToolOutcome::Result(raw(result));
        self.say(&ClientFrame::ToolResult(ToolResult { call_id: call, outcome }))
    }
}

/// A room of Alex and Sam with an agent that works on a run; its consumer is at the first gateway.
async fn at_work(world: &World) -> (Person, Person, Robot, Wire, RunId, u64) {
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut consumer = robot.consumer(world, 1, "main").await;
    let run = alex.ask(&robot, room, "what time is it?").await;
    assert_eq!(consumer.requested().await.0, run);
    let epoch = consumer.start(run).await;
    (alex, sam, robot, consumer, run, epoch)
}

async fn a_tool_is_called_by_rest_and_by_socket_and_answered_elsewhere(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam, robot, mut consumer, run, epoch) = at_work(&world).await;
    let mut browser = world.connect(&alex, 2).await;
    let body = json!({ "tool": "time_zone", "args": {"of": "now"}, "user_id": alex.id, "timeout": "30s" });
    let path = format!("/v1/runs/{run}/tool-calls?wait=20");
    let asking = robot.rest(&world, 1, "POST", &path, Some(&body));
    let answering = async {
        let call = browser.tool_call().await;
        assert_eq!((call.tool.as_str(), call.args.get()), ("time_zone", r#"{"of":"now"}"#));
        assert_eq!(call.run_id, run.0);
        assert_eq!(alex.run(run).await["status"], "waiting");
        browser.answer(call.call_id, &json!({"zone": "Europe/Berlin"})).await;
    };
    let ((status, answered), ()) = tokio::join!(asking, answering);
    assert_eq!((status, &answered["status"]), (201, &json!("answered")), "{answered}");
    assert_eq!(answered["result"], json!({"zone": "Europe/Berlin"}));
    assert_eq!(alex.run(run).await["status"], "running");
    let resolved = consumer.event_of("tool.resolved").await;
    assert_eq!(data(&resolved)["result"], json!({"zone": "Europe/Berlin"}));

    // By socket, and for a device that connects later.
    let call = CallTool {
        run_id: run.0,
        epoch,
        tool: "ask".to_owned(),
        args: raw(&json!({"question": "Soup?"})),
        user_id: sam.id.0,
        timeout: Some(WireDuration("30".to_owned())),
        nonce: Some("soup".to_owned()),
    };
    consumer.say(&ClientFrame::ToolCall(call)).await;
    let called = consumer
        .find(|frame| match frame {
            ServerFrame::ToolCalled(called) => Some(called.clone()),
            ServerFrame::Error(error) => panic!("{error:?}"),
            _ => None,
        })
        .await;
    assert_eq!(called.nonce.as_deref(), Some("soup"));
    let mut later = world.hello(&sam, 2, protocol::Encoding::Json).await;
    later.identify(sam.new_device(DeviceKind::Web).await).await;
    let waiting = later.tool_call().await;
    assert_eq!(waiting.call_id, called.call_id);
    // Somebody else may not answer, and leaves no trace.
    let forged = json!({ "result": "poison" });
    let path = format!("/v1/tool-calls/{}/result", called.call_id);
    assert_eq!(alex.rest("POST", &path, Some(&forged)).await.0, 403);
    assert_eq!(robot.rest(&world, 2, "POST", &path, Some(&forged)).await.0, 403);
    later.answer(waiting.call_id, &json!("yes")).await;
    let resolved = consumer.event_of("tool.resolved").await;
    assert_eq!((&data(&resolved)["result"], &data(&resolved)["status"]), (&json!("yes"), &json!("answered")));
    assert_eq!(sam.rest("POST", &path, Some(&json!({ "result": "no" }))).await.0, 409);
    let poison =
        world.sql("SELECT count(*) FROM tool_calls WHERE CAST(result AS TEXT) LIKE '%poison%'").await;
    assert_eq!(poison[0][0].as_deref(), Some("0"));
}

async fn of_two_answers_to_each_of_five_hundred_calls_one_counts(options: ClusterOptions) {
    const CALLS: usize = 500;
    let world = World::on(options).await;
    let (alex, _sam, robot, mut consumer, run, epoch) = at_work(&world).await;
    let mut answering = JoinSet::new();
    for (gateway, name) in [(1, "left"), (2, "right")] {
        let device = alex.new_device(DeviceKind::Web).await;
        let mut browser = world.connect_device(&alex, device, gateway).await;
        answering.spawn(async move {
            for _ in 0..CALLS {
                let call = browser.tool_call().await;
                browser.answer(call.call_id, &json!({ "by": name, "call": call.call_id })).await;
            }
            // All answers were looked at: those that came second were refused.
            browser.ping().await.iter().filter(|frame| matches!(frame, ServerFrame::Error(_))).count()
        });
    }
    for n in 0..CALLS {
        let call = CallTool {
            run_id: run.0,
            epoch,
            tool: "pick".to_owned(),
            args: raw(&json!({ "n": n })),
            user_id: alex.id.0,
            timeout: None,
            nonce: Some(format!("call-{n}")),
        };
        consumer.say(&ClientFrame::ToolCall(call)).await;
    }
    let mut answers = std::collections::HashMap::new();
    while answers.len() < CALLS {
        let resolved = data(&consumer.event_of("tool.resolved").await);
        let id = resolved["call_id"].as_str().expect("an id").to_owned();
        assert_eq!(resolved["result"]["call"], json!(id));
        assert!(answers.insert(id, resolved["result"].clone()).is_none(), "resolved twice");
    }
    while let Some(done) = timeout(PATIENCE, answering.join_next()).await.expect("in time") {
        done.expect("a browser");
    }
    for row in world.sql("SELECT id, result FROM tool_calls WHERE status = 'answered'").await {
        let (id, result) = (row[0].as_deref().expect("an id"), row[1].as_deref().expect("a result"));
        let result: Value = serde_json::from_str(result).expect("JSON");
        assert_eq!(answers.remove(id), Some(result), "the answer that was told is the one that is kept");
    }
    assert!(answers.is_empty());
    assert_eq!(alex.run(run).await["status"], "running");
    drop(robot);
}

async fn who_was_removed_from_the_room_is_asked_nothing_any_more(options: ClusterOptions) {
    let world = World::on(options.nodes(2, 2, 1).setting("runs.rescue_interval", "100ms")).await;
    let (alex, sam, robot, mut consumer, run, _) = at_work(&world).await;
    let room = alex.run(run).await["room_id"].as_str().expect("a room").to_owned();
    let body = json!({ "tool": "ask", "args": {"of": "the room"}, "user_id": sam.id });
    let (_, call) = robot.rest(&world, 1, "POST", &format!("/v1/runs/{run}/tool-calls"), Some(&body)).await;
    let path = format!("/v1/tool-calls/{}", call["id"].as_str().expect("an id"));
    assert_eq!(sam.rest("GET", &path, None).await.0, 200);
    alex.api.remove_member(room.parse().expect("an id"), sam.id).await.expect("removed");
    assert_eq!(sam.rest("GET", &path, None).await.0, 404);
    assert_eq!(sam.rest("GET", "/v1/tool-calls?status=pending", None).await.1["items"], json!([]));
    let answer = json!({ "result": "from outside" });
    assert_eq!(sam.rest("POST", &format!("{path}/result"), Some(&answer)).await.0, 409);
    let mut later = world.connect_device(&sam, sam.new_device(DeviceKind::Web).await, 2).await;
    assert!(!later.ping().await.iter().any(|frame| matches!(frame, ServerFrame::ToolCall(_))));
    let resolved = data(&consumer.event_of("tool.resolved").await);
    assert_eq!((&resolved["status"], &resolved["result"]), (&json!("cancelled"), &json!(null)));
    assert_eq!(alex.run(run).await["status"], "running");
}

async fn a_call_that_nobody_answers_expires_and_ends_with_its_run(options: ClusterOptions) {
    let world = World::on(options.nodes(2, 2, 1).setting("runs.rescue_interval", "100ms")).await;
    let (alex, _sam, robot, mut consumer, run, epoch) = at_work(&world).await;
    let mut browser = world.connect(&alex, 2).await;
    let body = json!({ "tool": "time_zone", "args": {}, "user_id": alex.id, "timeout": "500ms" });
    let path = format!("/v1/runs/{run}/tool-calls?wait=20");
    let (_, expired) = robot.rest(&world, 2, "POST", &path, Some(&body)).await;
    assert_eq!(expired["status"], "expired", "{expired}");
    let resolved = consumer.event_of("tool.resolved").await;
    assert_eq!(data(&resolved)["status"], "expired");
    assert_eq!(data(&browser.event_of("tool.resolved").await)["status"], "expired");
    let path = format!("/v1/tool-calls/{}/result", expired["id"].as_str().expect("an id"));
    assert_eq!(alex.rest("POST", &path, Some(&json!({ "result": 1 }))).await.0, 409);

    let body = json!({ "tool": "time_zone", "args": {}, "user_id": alex.id });
    let path = format!("/v1/runs/{run}/tool-calls");
    let (status, pending) = robot.rest(&world, 2, "POST", &path, Some(&body)).await;
    assert_eq!((status, &pending["status"]), (201, &json!("pending")));
    consumer.finish(run, epoch, "failed", None).await;
    assert_eq!(data(&browser.event_of("tool.resolved").await)["status"], "cancelled");
}
