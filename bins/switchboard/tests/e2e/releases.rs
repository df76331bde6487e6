//! Two releases side by side: one node after the other is replaced by a build that says more than this one knows, on a database that has
//! more than this one reads; then some go back.

use std::path::{Path, PathBuf};

use client::{Session, SessionSettings, SignIn, Update, Updates};
use domain::RoomId;
use protocol::Encoding;
use protocol::frame::{Event, Slot};
use serde_json::json;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::robot::{Robot, run_of};
use crate::wire::{body, stream};
use crate::world::{PATIENCE, Person, World};

/// What a later release leaves behind while this one runs: a column in each table, and its own migration.
const EXPANDED: &str = "
    DO $$ DECLARE one text; BEGIN
        FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
            EXECUTE format('ALTER TABLE %I ADD COLUMN said_by_next text DEFAULT ''more''', one);
        END LOOP;
    END $$;
    INSERT INTO schema_migrations (version, name, checksum) SELECT max(version) + 1, 'say_more', '' FROM schema_migrations";

/// Somebody's session, and what it was given of the room.
struct Listener {
    _session: Session,
    events: mpsc::UnboundedReceiver<Event>,
    seqs: Vec<u64>,
}

impl Listener {
    async fn start(world: &World, person: &Person, encoding: Encoding, room: RoomId) -> Self {
        let gateways = vec![world.cluster.gateway_url(1), world.cluster.gateway_url(2)];
        let tickets = SignIn::Tickets(vec![person.at(world, 1), person.at(world, 2)]);
        let settings = SessionSettings::new(gateways, tickets, Slot::Device(person.device.0));
        let (session, updates) = Session::open(SessionSettings { encoding, ..settings });
        session.live().await.expect("live");
        let (sender, events) = mpsc::unbounded_channel();
        tokio::spawn(pass_on(updates, room, sender));
        Self { _session: session, events, seqs: Vec::new() }
    }

    /// Waits for an event of the room that is such.
    async fn until(&mut self, what: &str, wanted: impl Fn(&Event) -> bool) {
        let looking = async {
            loop {
                let event = self.events.recv().await.expect("the session goes on");
                self.seqs.push(event.seq);
                if wanted(&event) {
                    return;
                }
            }
        };
        assert!(timeout(PATIENCE, looking).await.is_ok(), "{what} is waited for");
    }

    async fn until_said(&mut self, text: &str) {
        self.until(text, |event| event.kind == "message.created" && body(event) == text).await;
    }
}

async fn pass_on(mut updates: Updates, room: RoomId, events: mpsc::UnboundedSender<Event>) {
    while let Some(update) = updates.next().await {
        match update {
            Update::Event(event) if event.stream == stream(room) => drop(events.send(event)),
            Update::Fault(fault) => panic!("{fault}"),
            Update::Gap(gap) => panic!("nothing was trimmed: {gap:?}"),
            _ => {}
        }
    }
}

/// People, an agent and a task in one room.
struct Scene {
    people: [Person; 2],
    listeners: [Listener; 2],
    robot: Robot,
    room: RoomId,
    step: usize,
}

impl Scene {
    async fn start(world: &World) -> Self {
        let (alex, sam) = world.alex_and_sam().await;
        let room = alex.room("Lunch", &[&sam]).await;
        let robot = alex.robot("cook").await;
        alex.invite(&robot, room).await;
        let action = json!({ "kind": "message", "room_id": room, "body": "tick" });
        let ticks = json!({ "name": "ticks", "schedule": "every 1s", "misfire": "once", "retries": 5, "action": action });
        let (status, made) = alex.rest("POST", "/v1/tasks", Some(&ticks)).await;
        assert_eq!(status, 201, "{made}");
        let listeners = [
            Listener::start(world, &alex, Encoding::Json, room).await,
            Listener::start(world, &sam, Encoding::Proto, room).await,
        ];
        Self { people: [alex, sam], listeners, robot, room, step: 0 }
    }

    /// Everything works across all nodes, of whatever release they are.
    async fn goes_on(&mut self, world: &World) {
        self.step += 1;
        let (step, room) = (self.step, self.room);
        for (number, person) in (1..).zip(&self.people) {
            let said = client::api::NewMessage::new(format!("{} {step}", person.handle));
            person.at(world, number).send_message(room, &said).await.expect("sent");
            for listener in &mut self.listeners {
                listener.until_said(&format!("{} {step}", person.handle)).await;
            }
        }
        let run = self.people[step % 2].ask(&self.robot, room, "Soup?").await;
        let mut wire = self.robot.identify(world, 1 + step % 2, "main").await;
        while run_of(&wire.event_of("run.requested").await) != run {}
        let epoch = wire.start(run).await;
        wire.finish(run, epoch, "succeeded", None).await;
        for listener in &mut self.listeners {
            listener.until("the end of the run", |event| event.kind == "run.finished").await;
            listener.until_said("tick").await;
        }
    }
}

/// The build with the feature `next`, made by the cargo that runs this test.
async fn next_release() -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).args([
        "build",
        "--workspace",
        "--features",
        "switchboard/next",
        "--bin",
        "switchboard-next",
    ]);
    let built = cargo.output().await.expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Path::new(env!("CARGO_BIN_EXE_switchboard")).with_file_name("switchboard-next")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_an_old_and_a_new_release_serve_side_by_side() {
    let next = next_release().await;
    let mut world = World::with(|options| {
        options
            .nodes(2, 2, 2)
            .setting("scheduler.interval", "1s")
            .setting("scheduler.startup_jitter", "100ms")
            .setting("shutdown.lead", "0s")
            .setting("shutdown.spread", "200ms")
    })
    .await;
    let mut scene = Scene::start(&world).await;
    scene.goes_on(&world).await;
    world.sql(EXPANDED).await;
    for node in ["worker-1", "api-1", "gateway-1", "api-2", "gateway-2", "worker-2"] {
        world.cluster.replace(node, &next).await;
        scene.goes_on(&world).await;
        if node == "gateway-1" {
            // What the new ones say beside is heard by the old one, and passed over.
            world.until_metric("gateway-2", "switchboard_notify_unknown_total", |count| count > 0.0).await;
        }
    }
    for node in ["gateway-1", "api-2", "worker-1"] {
        world.cluster.replace(node, Path::new(env!("CARGO_BIN_EXE_switchboard"))).await;
        scene.goes_on(&world).await;
    }
    for (person, listener) in scene.people.iter().zip(&scene.listeners) {
        let seqs = &listener.seqs;
        assert!(
            seqs.windows(2).all(|two| two[1] == two[0] + 1),
            "{} lacks or repeats: {seqs:?}",
            person.handle
        );
    }
    let ticks = "SELECT count(*), count(DISTINCT scheduled_for) FROM task_runs WHERE status = 'succeeded'";
    let ticks = world.sql(ticks).await.remove(0);
    assert_eq!(ticks[0], ticks[1], "each tick once");
    let count: usize = ticks[0].as_deref().and_then(|count| count.parse().ok()).expect("a number");
    assert!(count >= scene.step, "at least one after each node: {count}");
    for node in world.cluster.names() {
        let log = world.cluster.log(node);
        assert!(!log.contains("ERROR"), "{node}: {log}");
    }
}
