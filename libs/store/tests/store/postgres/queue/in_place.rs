//! Claims that write no index.

use std::time::Duration;

use super::super::log::{beside, world};
use crate::suite::task_scene::{Chores, done};

/// Runs that are claimed at once: more than lie in one page.
const RUNS: usize = 200;

/// What the claim of a run changes is in no index, nor asked for by one: the new version of the row lies beside the old one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_writes_no_index() {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    for _ in 0..RUNS {
        let task = chores.task().await;
        chores.ask(task).await;
    }
    let session = chores.worker().await;
    let client = beside(&database).await;
    let claim = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/queue/claim.sql"));
    client.batch_execute(&format!("PREPARE claim AS {claim}; BEGIN")).await.expect("begun");
    let claimed =
        client.query(&format!("EXECUTE claim('{session}', {RUNS}, 0)"), &[]).await.expect("claimed");
    let counts = "SELECT pg_stat_get_xact_tuples_updated('task_queue'::regclass) AS all,
        pg_stat_get_xact_tuples_hot_updated('task_queue'::regclass) AS in_place";
    let counts = client.query_one(counts, &[]).await.expect("counts");
    client.batch_execute("ROLLBACK").await.expect("undone");
    assert_eq!(claimed.len(), RUNS);
    assert_eq!((counts.get::<_, i64>("all"), counts.get::<_, i64>("in_place")), (200, 200));
    // What is claimed stays in the line, and is not claimed again.
    let first = chores.claim(session, 50).await;
    let second = chores.claim(session, RUNS as u32).await;
    assert_eq!((first.len(), second.len()), (50, RUNS - 50));
    for run in first.iter().chain(&second) {
        chores.finish(session, &done(run)).await;
    }
}

/// What is looked for in the line alone, up to where it has come, is all that is under way: also what was handed back and claimed again, and what
/// was claimed behind others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_is_never_beyond_where_the_line_has_come() {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    let (one, two) = (chores.worker().await, chores.worker().await);
    let client = beside(&database).await;
    let beyond =
        "SELECT count(*) FROM task_queue, task_turn WHERE worker_id IS NOT NULL AND turn > last_value";
    for round in 0..6 {
        for _ in 0..10 {
            let task = chores.task().await;
            chores.ask(task).await;
        }
        let (ours, theirs) = (chores.claim(one, 3 + round).await, chores.claim(two, 4).await);
        let back: Vec<_> = theirs.iter().take(2).map(|run| (run.id, run.epoch)).collect();
        assert_eq!(chores.store.hand_back(two, &back).await.expect("an answer"), back.len() as u64);
        for run in ours.iter().take(2) {
            chores.finish(one, &done(run)).await;
        }
        let beyond: i64 = client.query_one(beyond, &[]).await.expect("a count").get(0);
        assert_eq!(beyond, 0, "round {round}");
    }
    let under_way = "SELECT count(*) FROM task_queue WHERE worker_id IS NOT NULL";
    let under_way: i64 = client.query_one(under_way, &[]).await.expect("a count").get(0);
    chores.expire(one).await;
    chores.expire(two).await;
    let lost = chores.store.lost_runs(1000).await.expect("an answer");
    assert_eq!(lost.len() as i64, under_way, "all of them are found");
}

/// Of two claims at once the one with the lower turns may set the line last, and who copies a database may leave the sequence behind: what is under way
/// beyond the line is found all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_was_set_back_hides_no_lost_run() {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    for _ in 0..5 {
        let task = chores.task().await;
        chores.ask(task).await;
    }
    let session = chores.worker().await;
    let claimed = chores.claim(session, 5).await;
    let client = beside(&database).await;
    let reached: i64 =
        client.query_one("SELECT last_value FROM task_turn", &[]).await.expect("a turn").get(0);
    client.batch_execute("SELECT setval('task_turn', 0)").await.expect("set back");
    chores.expire(session).await;
    assert!(chores.store.lost_runs(1000).await.expect("an answer").is_empty(), "they are beyond the line");
    chores.store.tidy_queue(Duration::from_secs(30)).await.expect("tidied");
    assert_eq!(chores.store.lost_runs(1000).await.expect("an answer").len(), claimed.len());
    let line: i64 = client.query_one("SELECT last_value FROM task_turn", &[]).await.expect("a turn").get(0);
    assert_eq!(line, reached);
}
