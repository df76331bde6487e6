//! Completions of commands, presence of agents, and the load they put on NOTIFY.

use protocol::frame::{Autocomplete, AutocompleteReply, Presence, PresenceStatus, Subject};
use protocol::{ClientFrame, ServerFrame};
use serde_json::json;
use testkit::cluster::ClusterOptions;
use uuid::Uuid;

use crate::robot::{Robot, raw};
use crate::wire::Wire;
use crate::world::{Person, World, in_both_worlds};

in_both_worlds!(a_command_is_completed_or_times_out, agents_are_seen_come_busy_and_gone);

impl Wire {
    async fn asked(&mut self) -> protocol::frame::AutocompleteRequest {
        self.find(|frame| match frame {
            ServerFrame::Autocomplete(asked) => Some(asked.clone()),
            _ => None,
        })
        .await
    }

    async fn choices(&mut self) -> protocol::frame::Choices {
        self.find(|frame| match frame {
            ServerFrame::Choices(choices) => Some(choices.clone()),
            ServerFrame::Error(error) => panic!("{error:?}"),
            _ => None,
        })
        .await
    }

    /// Waits until an agent is seen like this; gives the version.
    async fn seen(&mut self, robot: &Robot, wanted: PresenceStatus) -> u64 {
        self.find(|frame| match frame {
            ServerFrame::Presence(Presence { subject: Subject::Agent(id), status, version })
                if *id == robot.id.0 && *status == wanted =>
            {
                Some(*version)
            }
            _ => None,
        })
        .await
    }
}

fn question(robot: &Robot, room: domain::RoomId, input: &str) -> (Uuid, ClientFrame) {
    let request_id = Uuid::now_v7();
    let asked = Autocomplete {
        request_id,
        agent_id: robot.id.0,
        room_id: room.0,
        command: "/deploy".to_owned(),
        input: input.to_owned(),
    };
    (request_id, ClientFrame::Autocomplete(asked))
}

async fn a_command_is_completed_or_times_out(options: ClusterOptions) {
    let world = World::on(options.setting("commands.autocomplete_timeout", "2s")).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut consumer = robot.consumer(&world, 2, "main").await;
    let mut browser = world.connect(&alex, 1).await;
    let (id, asked) = question(&robot, room, "sta");
    browser.say(&asked).await;
    let request = consumer.asked().await;
    assert_eq!((request.command.as_str(), request.input.as_str()), ("/deploy", "sta"));
    assert_eq!((request.room_id, request.user_id), (room.0, alex.id.0));
    let choices = raw(&json!([{ "value": "staging" }, { "value": "stage-2", "label": "Stage 2" }]));
    let reply = AutocompleteReply { request_id: request.request_id, choices: choices.clone() };
    consumer.say(&ClientFrame::AutocompleteReply(reply)).await;
    let answer = browser.choices().await;
    assert_eq!((answer.request_id, answer.timed_out), (id, false));
    assert_eq!(answer.choices.get(), choices.get());

    // By REST, at a node of its own.
    let path = format!("/v1/agents/{}/autocomplete", robot.id);
    let body = json!({ "room_id": room, "command": "/deploy", "input": "p" });
    let asking = alex.rest("POST", &path, Some(&body));
    let answering = async {
        let request = consumer.asked().await;
        let choices = raw(&json!([{ "value": "production" }]));
        let reply = AutocompleteReply { request_id: request.request_id, choices };
        consumer.say(&ClientFrame::AutocompleteReply(reply)).await;
    };
    let ((status, answer), ()) = tokio::join!(asking, answering);
    assert_eq!((status, &answer["choices"]), (200, &json!([{ "value": "production" }])));

    // Nobody answers: told so, and one who answers too late harms nothing.
    let (id, asked) = question(&robot, room, "");
    browser.say(&asked).await;
    let request = consumer.asked().await;
    let answer = browser.choices().await;
    assert_eq!((answer.request_id, answer.timed_out, answer.choices.get()), (id, true, "[]"));
    let reply = AutocompleteReply { request_id: request.request_id, choices };
    consumer.say(&ClientFrame::AutocompleteReply(reply)).await;
    assert!(consumer.ping().await.is_empty());
    let (status, problem) = alex.rest("POST", &path, Some(&body)).await;
    assert_eq!((status, &problem["code"]), (504, &json!("timeout")));
    // Sam is not in the room.
    assert_eq!(sam.rest("POST", &path, Some(&body)).await.0, 404);
}

async fn agents_are_seen_come_busy_and_gone(options: ClusterOptions) {
    let mut world = World::on(
        options
            .nodes(2, 2, 1)
            .setting("runs.heartbeat", "300ms")
            .setting("runs.lease", "1s")
            .setting("runs.rescue_interval", "100ms"),
    )
    .await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let robot = alex.robot_with(json!({ "handle": "helper", "max_runs": 1 })).await;
    alex.invite(&robot, room).await;
    let mut here = world.connect(&alex, 1).await;
    let mut there = world.connect(&sam, 2).await;
    let mut last = 0;
    let consumer = robot.consumer(&world, 2, "main").await;
    last = both(&mut here, &mut there, &robot, PresenceStatus::Online, last).await;
    drop(consumer);
    last = both(&mut here, &mut there, &robot, PresenceStatus::Offline, last).await;
    let mut consumer = robot.consumer(&world, 1, "main").await;
    last = both(&mut here, &mut there, &robot, PresenceStatus::Online, last).await;
    let run = alex.ask(&robot, room, "work").await;
    let (asked, _) = consumer.requested().await;
    assert_eq!(asked, run);
    let epoch = consumer.start(run).await;
    last = both(&mut here, &mut there, &robot, PresenceStatus::Busy, last).await;
    // Its only place is taken: the next waits its turn, and says why.
    let next = alex.ask(&robot, room, "more work").await;
    assert_eq!(alex.run(next).await["reason"], "agent_busy");
    consumer.finish(run, epoch, "succeeded", None).await;
    last = both(&mut here, &mut there, &robot, PresenceStatus::Online, last).await;
    assert_eq!(alex.run(next).await["reason"], "offered");
    // Who connects later sees it too.
    let mut later = world.hello(&sam, 2, protocol::Encoding::Json).await;
    later.identify(sam.new_device(domain::DeviceKind::Web).await).await;
    assert_eq!(later.seen(&robot, PresenceStatus::Online).await, last);
    // A node that dies takes its consumers with it, and others see it.
    if world.has_many_nodes() {
        world.cluster.kill("gateway-1").await;
        assert!(there.seen(&robot, PresenceStatus::Offline).await > last);
    }
}

/// Both see the agent so, in the same version, which is newer than before.
async fn both(here: &mut Wire, there: &mut Wire, robot: &Robot, wanted: PresenceStatus, last: u64) -> u64 {
    let versions = (here.seen(robot, wanted).await, there.seen(robot, wanted).await);
    assert_eq!(versions.0, versions.1);
    assert!(versions.0 > last);
    versions.0
}

/// Typing, presence and runs at once, as fast as they may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_the_greatest_burst_stays_within_the_limits_of_notify() {
    const RUNS: usize = 40;
    let world = World::with(|options| options.setting("sync.typing_min_interval", "1ms")).await;
    let (alex, sam) = world.alex_and_sam().await;
    let mut rooms = Vec::new();
    for n in 0..20 {
        rooms.push(alex.room(&format!("Room {n}"), &[&sam]).await);
    }
    let robot = alex.robot_with(json!({ "handle": "helper", "max_runs": 100 })).await;
    for room in &rooms {
        alex.invite(&robot, *room).await;
    }
    let mut consumer = robot.consumer(&world, 1, "main").await;
    let mut runs = Vec::new();
    for n in 0..RUNS {
        let run = alex.ask(&robot, rooms[n % rooms.len()], "go").await;
        assert_eq!(consumer.requested().await.0, run);
        let epoch = consumer.start(run).await;
        consumer.patch(run, epoch, &json!([crate::robot::text_item("a")])).await;
        runs.push((run, epoch));
    }
    let typist = world.connect(&alex, 1).await;
    let mut listener = world.connect(&sam, 2).await;
    let queue = "SELECT pg_notification_queue_usage()";
    let mut fullest: f64 = 0.0;
    for _ in 0..50 {
        for room in &rooms {
            typist.say(&ClientFrame::Typing(protocol::frame::Typing { room_id: room.0 })).await;
        }
        for (run, epoch) in &runs {
            consumer.patch(*run, *epoch, &json!([crate::robot::append("word ")])).await;
        }
        let usage =
            world.sql(queue).await[0][0].as_deref().map_or(0.0, |usage| usage.parse().expect("a number"));
        fullest = fullest.max(usage);
    }
    for (run, epoch) in &runs {
        let ended = consumer.finish(*run, *epoch, "succeeded", None).await;
        assert_eq!(ended.status, "succeeded");
    }
    let mut ended = 0;
    let mut typed = 0;
    while ended < RUNS {
        match listener.next().await {
            ServerFrame::Event(event) if event.kind == "run.finished" => ended += 1,
            ServerFrame::Typing(_) => typed += 1,
            _ => {}
        }
    }
    assert!(typed > 0);
    assert!(fullest < 0.001, "the queue of NOTIFY was {fullest} full");
    for node in ["gateway-1", "gateway-2", "api-1", "api-2"] {
        let largest =
            world.metric(node, "switchboard_notify_largest_payload_bytes").await.expect("it is counted");
        assert!(largest <= 7900.0, "{node}: {largest}");
        assert_eq!(world.metric(node, "switchboard_notify_unknown_total").await, Some(0.0), "{node}");
    }
    assert!(world.metric("gateway-1", "switchboard_notify_sent_total").await.is_some_and(|sent| sent > 0.0));
    drop::<Person>(sam);
}
