//! Notifications and pushes while nodes and the database are killed, restarted and made to forget.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::api::NewRoom;
use client::{Session, SessionSettings, SignIn};
use domain::DeviceKind;
use protocol::frame::Slot;
use rand::Rng as _;
use serde_json::{Value, json};
use testkit::postgres::OwnServer;
use testkit::push::{FakePush, Push, Reply};
use tokio::time::{Instant, timeout};

use crate::notifications::{Scene, hint, pushing, subscribe};
use crate::world::{PATIENCE, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_gateway_that_is_killed_releases_what_waits_once_its_rows_are_old() {
    let mut world = World::with(pushing).await;
    let scene = Scene::in_cluster(&world).await;
    let mut desktop = scene.desktop().await;
    scene.until_seen(&mut desktop, false).await;
    let told = scene.write("are you there?").await;
    hint(&mut desktop).await;
    world.cluster.kill("gateway-2").await;
    let killed = Instant::now();
    assert_eq!(scene.next_push().await["notification_id"], json!(told.id));
    // The row was at most one flush old.
    let waited = killed.elapsed();
    assert!(waited >= Duration::from_millis(1700), "pushed after {waited:?}, the rows count for 2 s");
    told.steps(&[("decided", "gateway"), ("hinted", ""), ("released", "push_offline"), ("sent", "")]).await;
    assert_eq!(scene.push.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_database_that_forgets_who_is_there_pushes_to_nobody_who_is() {
    let mut server = OwnServer::durable().await;
    let database = server.database("presence").await.expect("a database");
    let mut world = World::at(database, |options| {
        pushing(options).setting("gateway.heartbeat_interval", "10m").setting("push.interval", "200ms")
    })
    .await;
    let scene = Scene::in_cluster(&world).await;
    let mut desktop = scene.desktop().await;
    scene.until_seen(&mut desktop, false).await;
    let before = scene.write("before").await;
    hint(&mut desktop).await;
    for round in 0..3 {
        server.crash().await.expect("crashed");
        server.start_again().await.expect("back");
        for node in ["api-1", "gateway-1", "gateway-2", "worker-1", "worker-2"] {
            world.cluster.until_ready(node).await;
        }
        // Some are decided while the table is empty still.
        let told = scene.write(&format!("after {round}")).await;
        assert_eq!(hint(&mut desktop).await.notification_id.to_string(), told.id);
        told.steps(&[("decided", "gateway"), ("hinted", "")]).await;
    }
    before.steps(&[("decided", "gateway"), ("hinted", "")]).await;
    // Who is not there is pushed to once that can be believed.
    drop(desktop);
    let mut pushed = Vec::new();
    while pushed.len() < 4 {
        let push = scene.next_push().await;
        pushed.extend(push["notification_ids"].as_array().expect("ids").clone());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_rolling_restart_of_gateways_pushes_to_none_of_two_hundred_who_resume() {
    const PEOPLE: usize = 200;
    let mut world = World::with(|options| {
        pushing(options).setting("sync.resume_window", "30s").setting("shutdown.spread", "1s")
    })
    .await;
    let (push, sam) = (FakePush::start().await, world.person(1, "sam").await);
    let mut people = Vec::new();
    for n in 0..PEOPLE {
        let person = world.person(1, &format!("p{n}")).await;
        let phone = person.new_device(DeviceKind::Mobile).await;
        subscribe(&person, phone, &push.subscribe()).await;
        let dm = sam.api.create_room(&NewRoom::dm(person.id), None).await.expect("a dm").id;
        people.push((person, dm));
    }
    let gateways = vec![world.cluster.gateway_url(1), world.cluster.gateway_url(2)];
    let mut sessions = Vec::new();
    for (person, _) in &people {
        let tickets = SignIn::Tickets(vec![person.api.clone()]);
        let mut settings = SessionSettings::new(gateways.clone(), tickets, Slot::Device(person.device.0));
        settings.backoff.first = Duration::from_millis(50);
        settings.backoff.most = Duration::from_secs(1);
        let (session, mut updates) = Session::open(settings);
        tokio::spawn(async move { while updates.next().await.is_some() {} });
        sessions.push(session);
    }
    for session in &sessions {
        timeout(PATIENCE, session.live()).await.expect("in time").expect("live");
    }
    let online = "SELECT count(*) FROM user_presence WHERE status = 'online'";
    until_count(&world, online, PEOPLE).await;

    let over = AtomicBool::new(false);
    let talk = async {
        let mut said = 0;
        while !over.load(Ordering::Relaxed) {
            let (_, dm) = &people[rand::rng().random_range(0..PEOPLE)];
            sam.says(*dm, "still there?").await;
            said += 1;
        }
        said
    };
    let restart = async {
        for gateway in ["gateway-1", "gateway-2"] {
            let ended = world.cluster.stop(gateway).await;
            assert!(ended.success(), "{ended}");
            world.cluster.start_again(gateway).await;
            world.cluster.until_ready(gateway).await;
            for session in &sessions {
                timeout(PATIENCE, session.live()).await.expect("back in time").expect("live");
            }
        }
        over.store(true, Ordering::Relaxed);
    };
    let (said, ()) = tokio::join!(talk, restart);
    // All of it is decided, also what came last.
    let undecided = "SELECT count(*) FROM notifications WHERE decision IS NULL";
    until_count(&world, undecided, 0).await;
    let decided = world.sql("SELECT decision, count(*) FROM notifications GROUP BY 1 ORDER BY 1").await;
    println!("{said} messages while both gateways were restarted: {decided:?}");
    assert!(said > 50, "{said}");
    assert_eq!(push.received().len(), 0, "{decided:?}");
    until_count(&world, online, PEOPLE).await;
    for session in &sessions {
        session.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_five_thousand_notifications_are_pushed_though_workers_are_killed() {
    const PEOPLE: usize = 50;
    const MESSAGES: usize = 100;
    const LEASE: Duration = Duration::from_secs(4);
    let mut world = World::with(|options| {
        pushing(options)
            .setting("push.lease", "4s")
            .setting("push.timeout", "2s")
            .setting("push.interval", "500ms")
    })
    .await;
    let (push, sam) = (FakePush::start().await, world.person(1, "sam").await);
    push.answer(Reply::status(201).after(Duration::from_millis(5)));
    let mut rooms = Vec::new();
    for n in 0..PEOPLE {
        let person = world.person(1, &format!("p{n}")).await;
        let phone = person.new_device(DeviceKind::Mobile).await;
        subscribe(&person, phone, &push.subscribe()).await;
        rooms.push(sam.api.create_room(&NewRoom::dm(person.id), None).await.expect("a dm").id);
    }
    let (over, database) = (AtomicBool::new(false), world.database().to_owned());
    let talk = async {
        let talkers = (0..4).map(|part| {
            let (sam, rooms) = (&sam, &rooms);
            async move {
                for n in 0..MESSAGES {
                    for room in rooms.iter().skip(part).step_by(4) {
                        sam.says(*room, &format!("{n}")).await;
                    }
                }
            }
        });
        futures_util::future::join_all(talkers).await;
        until_waiting(&database).await;
        over.store(true, Ordering::Relaxed);
    };
    let kill = async {
        let mut kills = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let name = format!("worker-{}", rand::rng().random_range(1..=2));
            tokio::time::sleep(Duration::from_millis(rand::rng().random_range(100..900))).await;
            let began = Instant::now();
            world.cluster.kill(&name).await;
            kills.push((began, Instant::now()));
            world.cluster.start_again(&name).await;
        }
        kills
    };
    let ((), kills) = tokio::join!(talk, kill);

    let mut pushes: HashMap<(String, String), Vec<Push>> = HashMap::new();
    for push in push.received() {
        let payload: Value = serde_json::from_str(&push.text).expect("JSON");
        for id in payload["notification_ids"].as_array().expect("ids") {
            let id = id.as_str().expect("an id").to_owned();
            pushes.entry((push.endpoint.clone(), id)).or_default().push(push.clone());
        }
    }
    let mut times: BTreeMap<usize, usize> = BTreeMap::new();
    for again in pushes.values() {
        *times.entry(again.len()).or_default() += 1;
        for two in again.windows(2) {
            assert_eq!(two[0].topic, two[1].topic, "the newer one replaces the older");
            // Sent, and a worker died before it was written down.
            let died = kills
                .iter()
                .any(|(began, ended)| *began < two[0].at + LEASE && *ended > two[0].at && *began < two[1].at);
            assert!(died, "pushed twice although nobody died: {two:?}");
        }
    }
    let sent = push.received().len();
    println!("{} kills, {sent} pushes; notifications by times pushed: {times:?}", kills.len());
    assert_eq!(pushes.len(), PEOPLE * MESSAGES, "each was pushed: {times:?}");
    assert!(kills.len() > 3, "{kills:?}");
}

async fn until_count(world: &World, statement: &str, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rows = world.sql(statement).await;
        if rows[0][0].as_deref() == Some(&*count.to_string()) {
            return;
        }
        assert!(Instant::now() < deadline, "{statement}: {rows:?} instead of {count}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until nothing is to be decided or pushed.
async fn until_waiting(database: &str) {
    let statement =
        "SELECT (SELECT count(*) FROM notification_queue) + (SELECT count(*) FROM push_deliveries)";
    let deadline = Instant::now() + PATIENCE * 4;
    loop {
        let rows = localpg::query(database, statement).await.expect("an answer");
        if rows[0][0].as_deref() == Some("0") {
            return;
        }
        assert!(Instant::now() < deadline, "{rows:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
