//! A run that is written a hundred times a second, watched by fifty connections, while everything that can die does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::{DeviceKind, RunId};
use protocol::frame::{RunChange, RunFinish, Watch};
use protocol::{ClientFrame, ServerFrame};
use serde_json::json;
use testkit::postgres::OwnServer;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};

use crate::robot::{Robot, Watched, append, text_item};
use crate::wire::Wire;
use crate::world::{PATIENCE, Person, World, of_one};

const WATCHERS: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_fifty_watchers_see_what_was_written_while_nodes_and_the_database_die() {
    let mut server = OwnServer::durable().await;
    let database = server.database("livebox").await.expect("a database");
    let world = World::at(database, |options| options.nodes(1, 3, 1).database_through_proxies()).await;
    fifty_watchers_see_what_is_written_while(world, async |world, written| {
        // The holder's node: it goes on at another one.
        world.cluster.kill("gateway-3").await;
        until_more(written, 150).await;
        // The node of half of those who watch.
        world.cluster.kill("gateway-1").await;
        world.cluster.start_again("gateway-1").await;
        until_more(written, 150).await;
        server.crash().await.expect("crashed");
        server.start_again().await.expect("back");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_fifty_watchers_see_what_was_written_while_the_process_is_killed() {
    fifty_watchers_see_what_is_written_while(World::on(of_one()).await, async |world, written| {
        for _ in 0..3 {
            world.cluster.kill("all").await;
            world.cluster.start_again("all").await;
            until_more(written, 150).await;
        }
    })
    .await;
}

async fn fifty_watchers_see_what_is_written_while(
    mut world: World,
    something_dies: impl AsyncFnOnce(&mut World, &AtomicU64),
) {
    let alex = world.person(1, "alex").await;
    let room = alex.room("Lunch", &[]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut consumer = robot.consumer(&world, 3, "main").await;
    let run = alex.ask(&robot, room, "count").await;
    assert_eq!(consumer.requested().await.0, run);
    let epoch = consumer.start(run).await;
    consumer.patch(run, epoch, &json!([text_item("a")])).await;

    let full: Arc<str> = (0..100_000).map(|word| format!("w{word} ")).collect::<String>().into();
    let mut watching = JoinSet::new();
    for watcher in 0..WATCHERS {
        let gateway = watcher % 2 + 1;
        let device = alex.new_device(DeviceKind::Web).await;
        let (url, alex, full) = (world.cluster.gateway_url(gateway), alex.clone(), Arc::clone(&full));
        watching.spawn(async move { watch(&url, &alex, device, run, &full).await });
    }
    let written = Arc::new(AtomicU64::new(0));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let urls = [3, 2].map(|gateway| world.cluster.gateway_url(gateway));
    let writing = tokio::spawn(write(
        consumer,
        robot,
        urls,
        (run, epoch),
        Arc::clone(&full),
        Arc::clone(&written),
        stopped,
    ));

    until_more(&written, 150).await;
    something_dies(&mut world, &written).await;
    until_more(&written, 150).await;
    stop.send_replace(true);
    timeout(PATIENCE, writing).await.expect("it comes to its end").expect("a writer");

    let stored = alex.run(run).await;
    assert_eq!(stored["status"], "succeeded");
    let text = stored["doc"]["items"][0]["text"].as_str().expect("text");
    assert!(text.len() > 600 * 3 && full.starts_with(text), "{} bytes", text.len());
    let mut ended = 0;
    while let Some(watched) = timeout(PATIENCE, watching.join_next()).await.expect("everybody sees the end") {
        let watched = watched.expect("a watcher");
        assert_eq!(watched.document.to_json(), stored["doc"].to_string());
        assert_eq!(watched.version, stored["version"].as_u64().expect("a version"));
        ended += 1;
    }
    assert_eq!(ended, WATCHERS);
}

/// Waits until so many more operations were written.
async fn until_more(written: &AtomicU64, more: u64) {
    let wanted = written.load(Ordering::Relaxed) + more;
    let began = Instant::now();
    while written.load(Ordering::Relaxed) < wanted {
        assert!(began.elapsed() < PATIENCE, "nothing is written any more");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Writes a word every ten milliseconds, and goes on elsewhere when its node dies; ends the run when told to.
async fn write(
    mut wire: Wire,
    robot: Robot,
    urls: [String; 2],
    (run, epoch): (RunId, u64),
    full: Arc<str>,
    written: Arc<AtomicU64>,
    stopped: tokio::sync::watch::Receiver<bool>,
) {
    let mut at = 0;
    let mut session = wire.ready().session_id;
    let mut ticks = interval(Duration::from_millis(10));
    let mut node = 0;
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                if *stopped.borrow() {
                    let status = "succeeded".to_owned();
                    let finish = RunFinish { run_id: run.0, epoch, status, ops: None, error: None };
                    drop(wire.try_say(&ClientFrame::RunFinish(finish)).await);
                } else {
                    let end = at + full[at..].find(' ').expect("words enough") + 1;
                    if wire.try_patch(run, epoch, &json!([append(&full[at..end])])).await.is_ok() {
                        at = end;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            received = wire.received() => match received {
                Ok(ServerFrame::Run(about)) if about.run_id == run.0 && about.status == "succeeded" => return,
                Ok(ServerFrame::Error(error)) if error.code != "unavailable" && error.code != "timeout" => panic!("{error:?}"),
                Ok(_) => {}
                Err(_) => {
                    node = (node + 1) % urls.len();
                    (wire, at) = go_on(&robot, &urls, &mut node, session, run, &full).await;
                    session = wire.ready().session_id;
                }
            }
        }
    }
}

/// Resumes at whichever node there is; where the stored text ends the writer goes on.
async fn go_on(
    robot: &Robot,
    urls: &[String; 2],
    node: &mut usize,
    session: uuid::Uuid,
    run: RunId,
    full: &str,
) -> (Wire, usize) {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "no node takes the consumer");
        if let Some(mut wire) = robot.try_resume(&urls[*node], session).await {
            let mut own = Watched::default();
            own.take(&wire.run_frame(run).await);
            assert!(full.starts_with(own.text()));
            return (wire, own.text().len());
        }
        *node = (*node + 1) % urls.len();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Watches until the run is over; what is shown is at each version the beginning of what is written.
async fn watch(url: &str, alex: &Person, device: domain::DeviceId, run: RunId, full: &str) -> Watched {
    loop {
        let Some(mut wire) = alex.try_connect(url, device).await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let mut watched = Watched::default();
        drop(wire.try_say(&ClientFrame::Watch(Watch { run_id: run.0 })).await);
        while let Ok(frame) = wire.received().await {
            if let ServerFrame::Run(about) = frame {
                // What goes before the answer to `watch` leads from a document that was passed over.
                if watched.epoch == 0 && !matches!(about.change, RunChange::Doc(_)) {
                    continue;
                }
                watched.take(&about);
                assert!(full.starts_with(watched.text()), "version {}", watched.version);
                if watched.status == "succeeded" {
                    return watched;
                }
            }
        }
    }
}
