//! Notifications: told once, in the right place, and able to say why.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use client::Api;
use client::api::{NewDevice, NewRoom};
use domain::{AuthSessionId, DeviceId, DeviceKind, PersonStatus, RoomId};
use protocol::frame::{Focus, Hint, Read};
use protocol::{ClientFrame, Encoding, ServerFrame};
use serde_json::{Value, json};
use store::Store;
use store::postgres::{DatabaseSettings, Postgres};
use store::push::PushAddress;
use testkit::cluster::ClusterOptions;
use testkit::port::Port;
use testkit::postgres::TestDatabase;
use testkit::push::{FakePush, FakeSubscription};
use tokio::time::{Instant, timeout};

use crate::single::start_with;
use crate::wire::Wire;
use crate::world::{PASSWORD, PATIENCE, Person, World, in_both_worlds};

in_both_worlds!(
    each_row_of_the_table,
    a_push_waits_for_its_time_and_is_dropped_when_it_is_read_or_deleted_meanwhile,
    what_leads_inside_is_refused_at_sending_too,
);

/// Nobody looks by itself, and nobody is given up early: what a test sees was said.
const NEVER: &str = "1h";

pub(crate) fn pushing(options: ClusterOptions) -> ClusterOptions {
    options
        .nodes(1, 2, 2)
        .setting("push.allow_private", "true")
        .setting("push.interval", NEVER)
        .setting("push.delay", NEVER)
        .setting("push.max_age", NEVER)
        .setting("cluster.presence_flush_interval", "100ms")
        .setting("cluster.presence_ttl", "2s")
}

/// After a start it soon believes that who is not connected does not come back.
fn pushing_soon(options: ClusterOptions) -> ClusterOptions {
    pushing(options).setting("sync.resume_window", "1s")
}

/// Where a scene takes place: several nodes, or one process.
pub(crate) struct Ground {
    /// Of the gateway to which people connect.
    gateway: String,
    store: Arc<dyn Store>,
    /// Where several nodes tell each other who is connected.
    rows: Option<String>,
}

impl Ground {
    async fn of(world: &World, gateway: usize) -> Self {
        let gateway = world.cluster.gateway_url(gateway);
        Self { gateway, store: world.store().await, rows: world.cluster.database_url().map(str::to_owned) }
    }

    async fn connect(&self, person: &Person, device: DeviceId) -> Wire {
        let ticket = person.ticket().await;
        let mut wire = Wire::open(&self.gateway, &ticket, Encoding::Json).await.expect("a connection");
        wire.identify(device).await;
        wire.until_live().await;
        wire
    }
}

/// Alex, whose phone is pushed to, and Sam, who writes to him.
pub(crate) struct Scene {
    pub(crate) ground: Ground,
    pub(crate) alex: Person,
    pub(crate) sam: Person,
    pub(crate) dm: RoomId,
    pub(crate) push: FakePush,
}

impl Scene {
    async fn on(ground: Ground, alex: Person, sam: Person) -> Self {
        let dm = sam.api.create_room(&NewRoom::dm(alex.id), None).await.expect("a dm").id;
        let push = FakePush::start().await;
        let phone = push.subscribe();
        let device = alex.new_device(DeviceKind::Mobile).await;
        subscribe(&alex, device, &phone).await;
        Self { ground, alex, sam, dm, push }
    }

    pub(crate) async fn in_cluster(world: &World) -> Self {
        let (alex, sam) = (world.person(1, "alex").await, world.person(1, "sam").await);
        Self::on(Ground::of(world, 2).await, alex, sam).await
    }

    /// Sam writes; gives the notification that Alex has of it.
    pub(crate) async fn write(&self, body: &str) -> Told<'_> {
        let seq = self.sam.says(self.dm, body).await;
        let (status, list) = self.alex.rest("GET", "/v1/notifications?limit=1", None).await;
        assert_eq!(status, 200, "{list}");
        let newest = &list["items"][0];
        assert_eq!((&newest["seq"], &newest["body"]), (&json!(seq), &json!(body)), "in the same commit");
        Told { scene: self, id: newest["id"].as_str().expect("an id").to_owned(), seq }
    }

    /// The desktop of Alex.
    pub(crate) async fn desktop(&self) -> Wire {
        self.ground.connect(&self.alex, self.alex.device).await
    }

    pub(crate) async fn next_push(&self) -> Value {
        let push = timeout(PATIENCE, self.push.next()).await.expect("a push");
        serde_json::from_str(&push.text).expect("JSON")
    }

    /// Waits until it is noted how Alex is seen.
    pub(crate) async fn until_seen(&self, desktop: &mut Wire, idle: bool) {
        // What was said before is taken in.
        desktop.ping().await;
        let deadline = Instant::now() + PATIENCE;
        let status = if idle { PersonStatus::Idle } else { PersonStatus::Online };
        loop {
            let seen = self.ground.store.people_presence(&[self.alex.id]).await.expect("an answer");
            if seen.first().is_some_and(|alex| alex.status == status) {
                return;
            }
            assert!(Instant::now() < deadline, "{seen:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Has pushes to a device go to the push service.
pub(crate) async fn subscribe(person: &Person, device: DeviceId, to: &FakeSubscription) {
    let body = json!({ "endpoint": to.endpoint, "keys": { "p256dh": to.p256dh, "auth": to.auth } });
    let (status, answer) = person.rest("PUT", &format!("/v1/devices/{device}/push"), Some(&body)).await;
    assert_eq!(status, 200, "{answer}");
}

/// A notification that Alex has.
pub(crate) struct Told<'a> {
    scene: &'a Scene,
    pub(crate) id: String,
    seq: u64,
}

impl Told<'_> {
    /// Steps with their reasons.
    async fn trace(&self) -> Vec<(String, String)> {
        trace(&self.scene.alex, &self.id).await
    }

    /// The trace once it is as long.
    pub(crate) async fn steps(&self, steps: &[(&str, &str)]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let trace = self.trace().await;
            if trace.len() >= steps.len() {
                let trace: Vec<_> = trace.iter().map(|(step, why)| (step.as_str(), why.as_str())).collect();
                assert_eq!(trace, steps);
                return;
            }
            assert!(Instant::now() < deadline, "{trace:?} is less than {steps:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub(crate) async fn trace(person: &Person, notification: &str) -> Vec<(String, String)> {
    let (status, trace) = person.rest("GET", &format!("/v1/notifications/{notification}/trace"), None).await;
    assert_eq!(status, 200, "{trace}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let steps = trace["steps"].as_array().expect("steps");
    steps.iter().map(|step| (text(&step["step"]), text(&step["reason"]))).collect()
}

pub(crate) async fn hint(wire: &mut Wire) -> Hint {
    wire.find(|frame| match frame {
        ServerFrame::Hint(hint) => Some(hint.clone()),
        _ => None,
    })
    .await
}

fn focus(room: Option<RoomId>, idle: bool) -> ClientFrame {
    ClientFrame::Focus(Focus { room_id: room.map(|room| room.0), idle })
}

/// The decision table, row by row; waits that end by themselves are not part of it.
async fn the_table(scene: &Scene) {
    // Nowhere: at once.
    let told = scene.write("nowhere").await;
    let pushed = scene.next_push().await;
    assert_eq!((&pushed["notification_id"], &pushed["body"]), (&json!(told.id), &json!("nowhere")));
    assert_eq!((&pushed["title"], &pushed["unread"]), (&json!("sam"), &json!(1)));
    told.steps(&[("decided", "push_offline"), ("sent", "")]).await;

    // At the desktop: a hint there, and the push waits.
    let mut desktop = scene.desktop().await;
    scene.until_seen(&mut desktop, false).await;
    let told = scene.write("at the desk").await;
    let shown = hint(&mut desktop).await;
    assert_eq!((shown.notification_id.to_string(), shown.seq), (told.id.clone(), told.seq));
    assert_eq!((shown.room_id, &*shown.title, &*shown.body), (scene.dm.0, "sam", "at the desk"));
    told.steps(&[("decided", "gateway"), ("hinted", "")]).await;

    // Idle: what waited goes at once, and what comes does, too.
    desktop.say(&focus(None, true)).await;
    let pushed = scene.next_push().await;
    assert_eq!(pushed["notification_id"], json!(told.id));
    told.steps(&[("decided", "gateway"), ("hinted", ""), ("released", "push_idle"), ("sent", "")]).await;
    scene.until_seen(&mut desktop, true).await;
    let told = scene.write("idle").await;
    assert_eq!(scene.next_push().await["notification_id"], json!(told.id));
    told.steps(&[("decided", "push_idle"), ("sent", "")]).await;

    // Looking at the room: nothing.
    desktop.say(&focus(Some(scene.dm), false)).await;
    scene.until_seen(&mut desktop, false).await;
    let told = scene.write("in the room").await;
    told.steps(&[("decided", "focused")]).await;

    // Looking at something else: a hint. Whoever closes it meanwhile is pushed to.
    desktop.say(&focus(None, false)).await;
    desktop.ping().await;
    until_focus(scene, None).await;
    let told = scene.write("elsewhere").await;
    assert_eq!(hint(&mut desktop).await.notification_id.to_string(), told.id, "and none of the room");
    drop(desktop);
    assert_eq!(scene.next_push().await["notification_id"], json!(told.id));
    told.steps(&[("decided", "gateway"), ("hinted", ""), ("released", "push_offline"), ("sent", "")]).await;

    // Muted; do not disturb; of no interest: it stays in the list.
    scene.alex.api.mute(scene.dm, true).await.expect("muted");
    scene.write("muted").await.steps(&[("decided", "muted")]).await;
    scene.alex.api.mute(scene.dm, false).await.expect("heard again");
    prefer(&scene.alex, &json!({ "dnd": { "until": "2999-01-01T00:00:00Z" } })).await;
    scene.write("do not disturb").await.steps(&[("decided", "dnd")]).await;
    prefer(&scene.alex, &json!({ "direct_messages": false })).await;
    scene.write("of no interest").await.steps(&[("decided", "unwanted")]).await;
    prefer(&scene.alex, &json!({})).await;
    let (_, list) = scene.alex.rest("GET", "/v1/notifications?unread=true", None).await;
    assert_eq!(list["unread"]["total"], 8, "{list}");
    assert!(scene.push.is_idle().await, "and nothing else was pushed");
    assert_eq!(scene.push.received().len(), 4);
}

async fn prefer(person: &Person, preferences: &Value) {
    let (status, answer) = person.rest("PUT", "/v1/notifications/preferences", Some(preferences)).await;
    assert_eq!(status, 200, "{answer}");
}

/// Waits until the rows show what Alex looks at; in one process what was said counts at once.
async fn until_focus(scene: &Scene, room: Option<RoomId>) {
    let Some(database) = &scene.ground.rows else { return };
    let deadline = Instant::now() + PATIENCE;
    let statement =
        format!("SELECT focused_room_id FROM gateway_presence WHERE user_id = '{}'", scene.alex.id);
    loop {
        let rows = localpg::query(database, &statement).await.expect("an answer of the database");
        let expected = room.map(|room| room.to_string());
        if rows.iter().all(|row| row[0] == expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{rows:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn each_row_of_the_table(options: ClusterOptions) {
    let world = World::on(pushing_soon(options)).await;
    the_table(&Scene::in_cluster(&world).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_one_process_decides_by_the_same_table() {
    let (database, keys) = (TestDatabase::empty().await, tempfile::tempdir().expect("a directory"));
    let (listen, admin) = (Port::reserve(), Port::reserve());
    let settings = [
        ("SWITCHBOARD__CLUSTER__MODE", "single"),
        ("SWITCHBOARD__CLUSTER__PRESENCE_FLUSH_INTERVAL", "100ms"),
        ("SWITCHBOARD__CLUSTER__PRESENCE_TTL", "2s"),
        ("SWITCHBOARD__SYNC__RESUME_WINDOW", "1s"),
        ("SWITCHBOARD__PUSH__ALLOW_PRIVATE", "true"),
        ("SWITCHBOARD__PUSH__INTERVAL", NEVER),
        ("SWITCHBOARD__PUSH__DELAY", NEVER),
    ];
    let keys = keys.path().join("keys");
    let (child, _) = start_with(&database, &listen, &admin, &keys, Stdio::inherit(), &settings).await;
    let api = Api::new(&format!("http://{}", listen.addr())).expect("a URL");
    let (alex, sam) = (register(&api, "alex").await, register(&api, "sam").await);
    let gateway = format!("ws://{}/v1/gateway", listen.addr());
    let registry = prometheus::Registry::new();
    let settings = DatabaseSettings::with_url(database.url());
    let store = Arc::new(Postgres::connect(&settings, &registry).await.expect("the store"));
    let scene = Scene::on(Ground { gateway, store, rows: None }, alex, sam).await;
    the_table(&scene).await;
    drop(child);
}

async fn a_push_waits_for_its_time_and_is_dropped_when_it_is_read_or_deleted_meanwhile(
    options: ClusterOptions,
) {
    let world = World::on(pushing_soon(options).setting("push.delay", "2s")).await;
    let scene = Scene::in_cluster(&world).await;
    let mut desktop = scene.desktop().await;
    scene.until_seen(&mut desktop, false).await;
    let read = scene.write("read").await;
    let by_list = scene.write("read in the list").await;
    let deleted = scene.write("deleted").await;
    let left = scene.write("left alone").await;
    hint(&mut desktop).await;
    desktop.say(&ClientFrame::Read(Read { room_id: scene.dm.0, seq: read.seq })).await;
    let ids = json!({ "ids": [by_list.id] });
    let (status, answer) = scene.alex.rest("POST", "/v1/notifications/read", Some(&ids)).await;
    assert_eq!((status, &answer["unread"]["total"]), (200, &json!(2)), "{answer}");
    let (_, list) = scene.alex.rest("GET", "/v1/notifications", None).await;
    let source = list["items"][1]["source_id"].as_str().expect("an id").parse().expect("an id");
    scene.sam.api.delete_message(scene.dm, source).await.expect("deleted");

    // Each of its devices is told what was read on one.
    let mut cleared = Vec::new();
    while cleared.len() < 2 {
        let event = desktop.event_of("notification.read").await;
        cleared.push(crate::wire::data(&event));
    }
    assert_eq!((&cleared[0]["room_id"], &cleared[0]["seq"]), (&json!(scene.dm), &json!(read.seq)));
    assert_eq!(cleared[1]["notification_ids"], json!([by_list.id]));

    assert_eq!(scene.next_push().await["notification_id"], json!(left.id));
    left.steps(&[("decided", "gateway"), ("hinted", ""), ("released", "push_delayed"), ("sent", "")]).await;
    for (told, why) in [(read, "read"), (by_list, "read"), (deleted, "withdrawn")] {
        let steps = told.trace().await;
        let last = steps.last().expect("steps");
        assert_eq!((&*last.0, &*last.1), ("dropped", why), "{steps:?}");
    }
    assert_eq!(scene.push.received().len(), 1);
}

async fn what_leads_inside_is_refused_at_sending_too(options: ClusterOptions) {
    let world = World::on(pushing_soon(options).setting("push.allow_private", "false")).await;
    let (alex, sam) = (world.person(1, "alex").await, world.person(1, "sam").await);
    let dm = sam.api.create_room(&NewRoom::dm(alex.id), None).await.expect("a dm").id;
    let (push, store) = (FakePush::start().await, world.store().await);
    let phone = push.subscribe();
    // As one that was good when it was saved: the name leads elsewhere now.
    for endpoint in [phone.endpoint.clone(), phone.endpoint.replace("127.0.0.1", "localhost")] {
        let address = PushAddress::WebPush {
            endpoint: endpoint.replace("http:", "https:"),
            p256dh: phone.p256dh.clone(),
            auth: phone.auth.clone(),
        };
        let device = alex.new_device(DeviceKind::Mobile).await;
        store.subscribe(alex.id, AuthSessionId::new(), device, &address).await.expect("noted");
    }
    sam.says(dm, "psst").await;
    let (_, list) = alex.rest("GET", "/v1/notifications", None).await;
    let id = list["items"][0]["id"].as_str().expect("an id");
    let deadline = Instant::now() + PATIENCE;
    let steps = loop {
        let steps = trace(&alex, id).await;
        if steps.len() == 3 {
            break steps;
        }
        assert!(Instant::now() < deadline, "{steps:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let refused = ("dropped".to_owned(), "refused".to_owned());
    assert_eq!(steps[1..], [refused.clone(), refused]);
    assert_eq!(push.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_hint_whose_word_was_lost_is_shown_by_the_sweep() {
    let world = World::with(|options| {
        pushing(options).database_through_proxies().setting("relay.sweep_interval", "500ms")
    })
    .await;
    let scene = Scene::in_cluster(&world).await;
    let mut desktop = scene.desktop().await;
    scene.until_seen(&mut desktop, false).await;
    // Decided, and nobody was told: as by a worker that died in between.
    world.cluster.pause("worker-1");
    world.cluster.pause("worker-2");
    let told = scene.write("psst").await;
    let noted = format!(
        "UPDATE notifications SET decision = 'gateway', decided_at = clock_timestamp() WHERE id = '{}'",
        told.id
    );
    world.sql(&noted).await;
    assert_eq!(hint(&mut desktop).await.notification_id.to_string(), told.id);
    world.cluster.resume("worker-1");
    world.cluster.resume("worker-2");
}

async fn register(api: &Api, handle: &str) -> Person {
    let api = api.signed_out();
    let device = NewDevice { kind: DeviceKind::Desktop, name: "a desk".to_owned() };
    let signed_in = api.register(handle, PASSWORD, None, Some(&device)).await.expect("registered");
    Person {
        api,
        id: signed_in.user.expect("the person").id,
        device: signed_in.device_id.expect("the device"),
        handle: handle.to_owned(),
    }
}
