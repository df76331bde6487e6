//! From the embedded database to a cluster on PostgreSQL, with everything, while clients are away.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use client::Api;
use client::api::NewDevice;
use domain::{DeviceKind, EventId, RoomId, RoomKind, UserId};
use prometheus::Registry;
use protocol::{Encoding, ServerFrame};
use rand::Rng as _;
use serde_json::json;
use store::accounts::NewUser;
use store::messages::NewMessage;
use store::postgres::{DatabaseSettings, Postgres};
use store::rooms::NewRoom;
use store::sqlite::Sqlite;
use store::{Accounts, Log, Messages, Rooms};
use testkit::port::Port;
use testkit::postgres::TestDatabase;

use crate::embedded::Alone;
use crate::program::{program, run};
use crate::robot::rest;
use crate::wire::{Wire, body, stream};
use crate::world::{Person, World};

const SEAL_KEY: &str = "c2VhbGVkIGJ5IHRlc3RzIHRoYXQgcm90YXRlIGtleXM=";
/// A browser's public key and secret, of RFC 8291.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";
/// Of the export that is killed all the time.
const EVENTS: usize = 20_000;

/// A command in a folder that knows nothing but it.
fn on(folder: &Path, arguments: &str) -> Command {
    let mut command = program(arguments);
    command.current_dir(folder).env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64");
    command
}

/// A command in a folder, with a PostgreSQL and places for keys beside.
fn into(folder: &Path, database: &TestDatabase, arguments: &str) -> Command {
    let mut command = on(folder, arguments);
    command
        .env("SWITCHBOARD__DATABASE__URL", database.url())
        .env("SWITCHBOARD__SECRETS__SIGNING_KEY_DIR", folder.join("new-keys"))
        .env("SWITCHBOARD__PUSH__VAPID_KEY_DIR", folder.join("new-push"));
    command
}

/// As [`into`], with signing keys in the database.
fn sealed(folder: &Path, database: &TestDatabase, arguments: &str) -> Command {
    let mut command = into(folder, database, arguments);
    command
        .env("SWITCHBOARD__SIGNING_KEY__DRIVER", "postgres")
        .env("SWITCHBOARD__SECRETS__SEAL_KEY", SEAL_KEY);
    command
}

impl Alone {
    /// Somebody of the demo, signed in with a device of their own.
    async fn person(&self, handle: &str) -> Person {
        let api = Api::new(&self.url).expect("a URL");
        let device = NewDevice { kind: DeviceKind::Mobile, name: "phone".into() };
        let signed_in = api.login(handle, &self.password(), Some(&device)).await.expect("signed in");
        Person {
            api,
            id: signed_in.user.expect("who signed in").id,
            device: signed_in.device_id.expect("the device that was named"),
            handle: handle.to_owned(),
        }
    }
}

impl Person {
    /// The same person, with the same tokens, at a node of a cluster.
    fn moved(&self, world: &World, api: usize) -> Self {
        Self { api: self.at(world, api), ..self.clone() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_what_was_one_process_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a directory");
    let (folder, listen) = (folder.path(), Port::reserve());
    // A phone whose push service is nowhere.
    std::fs::write(folder.join("c.toml"), "[push]\nallow_private = true\n").expect("written");
    let alone = Alone::start(folder, &listen, "--config c.toml").await;
    let (alex, sam, room) = (alone.person("alex").await, alone.person("sam").await, alone.room());
    let token = alex.api.access_token().expect("signed in");
    // An agent that is asked and never came; a task; a phone that takes pushes.
    let robot = alex.robot("cook").await;
    alex.invite(&robot, room).await;
    let asked = alex.ask(&robot, room, "soup").await;
    let kettle = alex.room("Kettle", &[]).await;
    let action = json!({ "kind": "message", "room_id": kettle, "body": "tea" });
    let task = json!({ "name": "tea", "schedule": "every 1s", "misfire": "once", "action": action });
    let (status, made) = alex.rest("POST", "/v1/tasks", Some(&task)).await;
    assert_eq!(status, 201, "{made}");
    let subscription = json!({
        "endpoint": "https://127.0.0.1:1/sam",
        "keys": { "p256dh": P256DH, "auth": AUTH },
    });
    let push = format!("/v1/devices/{}/push", sam.device);
    let (status, set) = sam.rest("PUT", &push, Some(&subscription)).await;
    assert!((200..300).contains(&status), "{status} {set}");
    let sent = alex.api.send_message(room, &client::api::NewMessage::new("hello")).await.expect("sent");
    sam.api.add_reaction(room, sent.event.id.into(), "👍").await.expect("reacted");

    // Sam sees everything, and leaves.
    let gateway = format!("ws://{}/v1/gateway", listen.addr());
    let mut wire = Wire::open(&gateway, &sam.ticket().await, Encoding::Json).await.expect("a connection");
    wire.identify(sam.device).await;
    wire.until_live().await;
    let (seen, epoch) = (wire.cursors(), wire.ready().log_epoch);
    drop(wire);
    let mut missed = Vec::new();
    for n in 1..=7 {
        missed.push((alex.says(room, &format!("no. {n}")).await, format!("no. {n}")));
    }

    // The move, first tried out while everything goes on.
    let pid = alone.child.id().expect("it runs").to_string();
    run(on(folder, "export move")).await.refused(1, &["process", &pid, "--while-served"]);
    assert!(!folder.join("move").exists());
    let tried = run(on(folder, "export rehearsal --while-served")).await.good();
    assert!(tried.out.contains("is not in the export"), "{tried:?}");
    missed.push((alex.says(room, "one more").await, "one more".to_owned()));
    alone.stop().await;
    let exported = run(on(folder, "export move")).await.good();
    assert!(exported.out.contains("leave it stopped") && exported.out.contains("events"), "{exported:?}");
    run(on(folder, "export move")).await.refused(1, &["not there yet"]);
    assert!(folder.join(".switchboard/exported").exists(), "whoever starts it again is told");

    let database = TestDatabase::empty().await;
    run(on(folder, "import move")).await.refused(1, &["database.url"]);
    run(sealed(folder, &database, "import move")).await.refused(1, &["run `switchboard migrate`"]);
    run(sealed(folder, &database, "migrate")).await.good();
    let imported = run(sealed(folder, &database, "import move")).await.good();
    assert!(imported.out.contains("read back and compared"), "{imported:?}");
    assert!(imported.out.contains("1 go into the database, sealed"), "{imported:?}");
    for secret in [SEAL_KEY, &token, &robot.token] {
        assert!(!(imported.out.clone() + &imported.err).contains(secret), "{imported:?}");
    }
    let again = run(sealed(folder, &database, "import move")).await.good();
    assert!(again.out.contains("nothing left to do"), "{again:?}");
    // The rehearsal is another export, though of the same log.
    run(sealed(folder, &database, "import rehearsal")).await.refused(1, &["something of its own"]);

    let vapid = folder.join("new-push").display().to_string();
    let world = World::at(database.url(), |options| {
        options
            .nodes(2, 2, 1)
            .setting("signing_key.driver", "postgres")
            .setting("secrets.seal_key", SEAL_KEY)
            .setting("push.allow_private", "true")
            .setting("push.vapid_key_dir", vapid)
    })
    .await;
    // Tokens of before, at every node.
    for node in [1, 2] {
        let base = world.cluster.api_url(node);
        let (status, me) = rest(&base, &token, "GET", "/v1/users/me", None).await;
        assert_eq!((status, me["handle"].as_str()), (200, Some("alex")), "{me}");
    }
    let (alex, sam) = (alex.moved(&world, 1), sam.moved(&world, 2));
    sam.api.refresh().await.expect("the refresh token is good");
    assert_eq!(sam.rest("GET", &push, None).await.0, 200);
    assert_eq!(world.sql("SELECT emoji FROM reactions").await, [[Some("👍".to_owned())]]);

    // Sam has the old cursors, and is given what lies after them, once and in order.
    let mut wire = world.hello(&sam, 2, Encoding::Json).await;
    wire.identify_from(sam.device, seen, Some(epoch)).await;
    assert_eq!(wire.ready().log_epoch, epoch);
    let mut got = Vec::new();
    for frame in wire.until_live().await {
        match frame {
            ServerFrame::Event(event) if event.stream == stream(room) => got.push((event.seq, body(&event))),
            ServerFrame::Gap(gap) => panic!("{gap:?}"),
            _ => {}
        }
    }
    assert_eq!(got, missed);
    let next = alex.says(room, "from the cluster").await;
    assert_eq!(next, missed.last().expect("a message").0 + 1);
    let event = wire.next_in(room, "message.created").await;
    assert_eq!((event.seq, body(&event).as_str()), (next, "from the cluster"));

    // The agent is given what it was asked, the task goes on.
    let mut cook = robot.identify(&world, 1, "main").await;
    let (run, _) = cook.requested().await;
    assert_eq!(run, asked);
    let epoch = cook.start(run).await;
    assert_eq!(cook.finish(run, epoch, "succeeded", None).await.status, "succeeded");
    let mut desk = world.connect(&alex, 1).await;
    assert_eq!(body(&desk.next_in(kettle, "message.created").await), "tea");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_twenty_thousand_events_is_imported_though_the_import_is_killed() {
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path();
    // Its keys, and its folder.
    Alone::start(folder, &Port::reserve(), "--no-demo").await.stop().await;
    let store = Sqlite::open(&folder.join(".switchboard/switchboard.db"), &Registry::new()).expect("a store");
    let room = fill(&store).await;
    let epoch = store.log_epoch().await.expect("an epoch");
    drop(store);
    let keys = run(on(folder, "keys list")).await.good().out;
    run(on(folder, "export move")).await.good();

    let database = TestDatabase::empty().await;
    run(into(folder, &database, "migrate")).await.good();
    let (mut kills, mut most) = (0, 200);
    let imported = loop {
        let mut command = into(folder, &database, "import move");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        let importing = command.kill_on_drop(true).spawn().expect("it runs");
        let pause = Duration::from_millis(rand::rng().random_range(50..most));
        // Killed at any moment: there is nothing to wait for.
        match tokio::time::timeout(pause, importing.wait_with_output()).await {
            Ok(ended) => break crate::program::Ran::from(ended.expect("its end")).good(),
            Err(_) => {
                kills += 1;
                let begun = "SELECT 1 WHERE to_regclass('import_progress') IS NOT NULL";
                let begun = localpg::query(&database.url(), begun).await.expect("an answer").len() == 1;
                let looked = run(into(folder, &database, "doctor")).await;
                assert_eq!(looked.out.contains("FAULT  import"), begun, "{looked:?}");
            }
        }
        most += 200;
    };
    assert!(kills > 0 && imported.out.contains("read back and compared"), "{imported:?}");
    println!("imported after {kills} kills");

    assert_eq!(run(into(folder, &database, "keys list")).await.good().out, keys, "the keys came along");
    let count = "SELECT count(*), count(DISTINCT seq), max(seq) FROM events WHERE kind = 'message.created'";
    let rows = localpg::query(&database.url(), count).await.expect("an answer");
    let head: u64 = rows[0][2].as_deref().and_then(|seq| seq.parse().ok()).expect("a number");
    let events = EVENTS.to_string();
    assert_eq!(rows[0][..2], [Some(events.clone()), Some(events)]);
    let moved = Postgres::connect(&DatabaseSettings::with_url(database.url()), &Registry::new()).await;
    let moved = moved.expect("the store");
    assert_eq!(moved.log_epoch().await.expect("an epoch"), epoch);
    let heads = moved.heads(&[room.0]).await.expect("heads").heads;
    assert_eq!(heads, [(room.0, head)]);
}

/// A room with many messages.
async fn fill(store: &Sqlite) -> RoomId {
    let alex = NewUser {
        id: UserId::new(),
        handle: "alex".into(),
        display_name: "Alex".into(),
        role: domain::Role::User,
        password_hash: "$argon2id$".into(),
    };
    let alex = store.create_user(&alex).await.expect("a person").id;
    let room = NewRoom {
        id: RoomId::new(),
        kind: RoomKind::Group,
        name: Some("Lunch".into()),
        creator: alex,
        members: Vec::new(),
        key: None,
    };
    let room = store.create_room(&room).await.expect("a room").room;
    let ids: Vec<EventId> = (0..EVENTS).map(|_| EventId::new()).collect();
    for batch in ids.chunks(1000) {
        let said = |id: &EventId| NewMessage {
            id: *id,
            room,
            sender: alex.into(),
            nonce: Some(id.to_string()),
            data: json!({ "body": format!("Soup of {id}, or \"bread\"?\n") }).to_string().into(),
            reply_to: None,
            trace: None,
            recipients: Vec::new(),
        };
        let said: Vec<NewMessage> = batch.iter().map(said).collect();
        let appended = store.append_messages(&said).await.expect("appended");
        assert!(appended.iter().all(Result::is_ok));
    }
    room
}
