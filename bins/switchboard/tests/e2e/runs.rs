//! Runs from the question to the end, over several nodes.

use protocol::ClientFrame;
use protocol::frame::Watch;
use serde_json::json;
use testkit::cluster::ClusterOptions;

use crate::robot::{Watched, append, run_of, text_item};
use crate::wire::data;
use crate::world::{World, in_both_worlds};

in_both_worlds!(
    a_mention_makes_a_run_that_everybody_watches,
    a_fresh_identify_hands_runs_back_and_they_start_anew,
    cancel_reaches_the_consumer_and_closing_a_browser_cancels_nothing,
);

async fn a_mention_makes_a_run_that_everybody_watches(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut here = world.connect(&sam, 1).await;
    let mut there = world.connect(&alex, 2).await;
    let mut consumer = robot.consumer(&world, 2, "main").await;

    alex.says(room, "@helper what is for lunch?").await;
    let mention = consumer.next_event_is("message.created").await;
    assert_eq!(data(&mention)["body"], "@helper what is for lunch?");
    let (run, requested) = consumer.requested().await;
    assert_eq!(data(&requested)["input"], "@helper what is for lunch?");
    assert_eq!(data(&requested)["room_id"], json!(room));
    for wire in [&mut here, &mut there] {
        assert_eq!(run_of(&wire.event_of("run.created").await), run);
        // Shown before anybody has begun, and again to who asks.
        let mut waiting = Watched::default();
        waiting.take(&wire.run_frame(run).await);
        assert_eq!((waiting.status.as_str(), waiting.text()), ("queued", ""));
        wire.say(&ClientFrame::Watch(Watch { run_id: run.0 })).await;
        waiting.take(&wire.run_frame(run).await);
        assert_eq!(waiting.status, "queued");
    }
    let epoch = consumer.start(run).await;
    consumer.patch(run, epoch, &json!([text_item("a"), append("Soup")])).await;
    consumer.patch(run, epoch, &json!([append(", I ")])).await;
    consumer.patch(run, epoch, &json!([append("think.")])).await;
    let mut watched = [Watched::default(), Watched::default()];
    for (wire, watched) in [&mut here, &mut there].into_iter().zip(&mut watched) {
        while watched.text() != "Soup, I think." {
            watched.take(&wire.run_frame(run).await);
            assert!("Soup, I think.".starts_with(watched.text()), "{watched:?}");
        }
    }
    let ended = consumer.finish(run, epoch, "succeeded", Some(&json!([append(" Or pie.")]))).await;
    assert_eq!(ended.status, "succeeded");
    for (wire, watched) in [&mut here, &mut there].into_iter().zip(&mut watched) {
        while watched.status != "succeeded" {
            watched.take(&wire.run_frame(run).await);
        }
        assert_eq!(watched.text(), "Soup, I think. Or pie.");
    }
    // Asked again, as by one that was not answered, it is answered the same; another end is refused.
    assert_eq!(consumer.finish(run, epoch, "succeeded", None).await, ended);
    assert_eq!(consumer.refused_finish(run, epoch, "failed").await, "conflict");
    let stored = sam.run(run).await;
    assert_eq!(stored["status"], "succeeded");
    assert_eq!(stored["doc"].to_string(), watched[0].document.to_json());
    assert_eq!(stored["version"], watched[1].version);
    // The document alone is kept.
    let left = world.sql("SELECT count(*) FROM run_patches").await;
    assert_eq!(left[0][0].as_deref(), Some("0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_consumer_whose_node_dies_goes_on_with_its_run_elsewhere() {
    let mut world = World::start().await;
    let (alex, _sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut watcher = world.connect(&alex, 1).await;
    let mut consumer = robot.consumer(&world, 2, "main").await;
    let run = alex.ask(&robot, room, "count").await;
    assert_eq!(consumer.requested().await.0, run);
    let epoch = consumer.start(run).await;
    consumer.patch(run, epoch, &json!([text_item("a"), append("one ")])).await;
    let mut watched = Watched::default();
    while watched.text() != "one " {
        watched.take(&watcher.run_frame(run).await);
    }
    let session = consumer.ready().session_id;
    world.cluster.kill("gateway-2").await;
    let mut consumer = robot.resume(&world, 1, session).await;
    let held = consumer.run_frame(run).await;
    let mut own = Watched::default();
    own.take(&held);
    assert_eq!((own.text(), own.epoch), ("one ", epoch), "the same execution, as it is stored");
    consumer.patch(run, epoch, &json!([append("two")])).await;
    consumer.finish(run, epoch, "succeeded", None).await;
    while watched.status != "succeeded" {
        watched.take(&watcher.run_frame(run).await);
    }
    assert_eq!(watched.text(), "one two");
}

async fn a_fresh_identify_hands_runs_back_and_they_start_anew(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, _sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut watcher = world.connect(&alex, 1).await;
    let mut first = robot.consumer(&world, 1, "main").await;
    let run = alex.ask(&robot, room, "count").await;
    let (_, requested) = first.requested().await;
    let epoch = first.start(run).await;
    first.patch(run, epoch, &json!([text_item("a"), append("never mind")])).await;
    first.ack(requested.seq).await;
    let mut watched = Watched::default();
    while watched.text() != "never mind" {
        watched.take(&watcher.run_frame(run).await);
    }
    let mut second = robot.identify(&world, 2, "main").await;
    assert_eq!(first.closed().await, 4015);
    let (again, _) = second.requested().await;
    assert_eq!(again, run);
    let next = second.start(run).await;
    assert!(next > epoch);
    second.patch(run, next, &json!([text_item("b"), append("anew")])).await;
    second.finish(run, next, "succeeded", None).await;
    while watched.status != "succeeded" {
        watched.take(&watcher.run_frame(run).await);
    }
    assert_eq!((watched.text(), watched.epoch), ("anew", next));
}

/// The close does not wait for what is to be noted of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_consumer_is_sent_away_while_the_database_is_silent() {
    let world =
        World::with(|options| options.database_through_proxies().setting("database.statement_timeout", "5m"))
            .await;
    let (alex, _sam) = world.alex_and_sam().await;
    let robot = alex.robot("helper").await;
    let mut consumer = robot.consumer(&world, 1, "main").await;
    world.cluster.database_of("gateway-1").stall();
    world.cluster.terminate("gateway-1");
    assert_eq!(consumer.closed().await, 1012);
}

async fn cancel_reaches_the_consumer_and_closing_a_browser_cancels_nothing(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let robot = alex.robot("helper").await;
    alex.invite(&robot, room).await;
    let mut consumer = robot.consumer(&world, 2, "main").await;
    let watcher = world.connect(&alex, 1).await;
    let run = alex.ask(&robot, room, "count").await;
    assert_eq!(consumer.requested().await.0, run);
    let epoch = consumer.start(run).await;
    drop(watcher);
    consumer.patch(run, epoch, &json!([text_item("a"), append("on and on")])).await;
    // Everything that the close could have set off would come before this answer.
    let came = consumer.ping().await;
    assert!(came.is_empty(), "{came:?}");
    assert_eq!(alex.run(run).await["cancel_requested"], false);
    // Sam neither asked for it nor owns anything here.
    let (status, _) = sam.rest("POST", &format!("/v1/runs/{run}/cancel"), None).await;
    assert_eq!(status, 403);
    let (status, cancelled) = alex.rest("POST", &format!("/v1/runs/{run}/cancel"), None).await;
    assert_eq!((status, &cancelled["cancel_requested"]), (200, &json!(true)));
    let asked = consumer.event_of("run.cancel_requested").await;
    assert_eq!(run_of(&asked), run);
    let ended = consumer.finish(run, epoch, "cancelled", None).await;
    assert_eq!(ended.status, "cancelled");
    assert_eq!(alex.run(run).await["status"], "cancelled");
}
