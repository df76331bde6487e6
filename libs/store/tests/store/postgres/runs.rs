//! Runs in PostgreSQL: locks, lost answers, patches that a crash took, and what must be true of the tables at every moment.

use std::time::Duration;

use domain::RunStatus;
use store::consumers::AgentStatus;
use store::postgres::{DatabaseSettings, migrate};
use store::runs::{PatchOutcome, RescueRules};
use store::tools::NewToolCall;
use store::{Refusal, StoreError};
use testkit::postgres::{OwnServer, TestDatabase};

use super::log::{SOMEBODY_WAITS, beside, until, world};
use super::{database, store};
use crate::suite::people::HOUR;
use crate::suite::scene::{PATIENT, Scene, holder, news, snapshot};
use crate::suite::world::{World, refused};
use crate::suite::{Subject, consumers, run_races, tools};

mod schedule;

const TWO_WAIT: &str =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    HAVING count(*) = 2";

/// A database that never finds a deadlock: it would be a timeout.
async fn without_deadlocks() -> (World, TestDatabase) {
    let database = database().await;
    database.query(&format!("ALTER DATABASE {} SET deadlock_timeout = '10min'", database.name())).await;
    let store = store(&DatabaseSettings::with_url(database.url())).await;
    (Subject::new(store, ()).into(), database)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_runs_are_taken_in_one_order() {
    let (world, _kept) = without_deadlocks().await;
    run_races::many_flushes_of_many_runs_do_not_wait_for_ever(world.clone()).await;
    run_races::nothing_is_flushed_after_a_taking(world.clone()).await;
    run_races::rescuers_do_not_hinder_each_other(world.clone()).await;
    run_races::places_are_never_given_twice(world.clone()).await;
    tools::an_answer_and_an_end_agree(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_sees_the_one_before_that_is_under_way() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    blocker.batch_execute("BEGIN; SELECT 1 FROM runs FOR UPDATE").await.expect("locked");
    let flush = || {
        let scene = scene.clone();
        tokio::spawn(async move { scene.flush(held, 1, "[1]").await })
    };
    // Its answer does not come, and it is sent again while the first still waits.
    let first = flush();
    until(&observer, SOMEBODY_WAITS).await;
    let again = flush();
    until(&observer, TWO_WAIT).await;
    blocker.batch_execute("COMMIT").await.expect("released");
    for written in [first, again] {
        assert_eq!(written.await.expect("no panic"), PatchOutcome::Written(2));
    }
    assert_eq!(scene.see(held.run).await.doc.patches.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_that_waited_for_a_taking_is_lost() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    let taken = "BEGIN; UPDATE runs SET holder_session_id = gen_random_uuid()";
    blocker.batch_execute(taken).await.expect("locked");
    let waiting = {
        let scene = scene.clone();
        tokio::spawn(async move { scene.write(snapshot(held, 1, "[1]", "{}")).await })
    };
    until(&observer, SOMEBODY_WAITS).await;
    blocker.batch_execute("COMMIT").await.expect("released");
    assert_eq!(waiting.await.expect("no panic"), PatchOutcome::Lost);
    assert_eq!(scene.see(held.run).await.version, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_waited_for_a_taking_is_refused() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let slot = scene.hold().await;
    let run = scene.run().await.id;
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    let locked = format!("BEGIN; SELECT 1 FROM streams WHERE id = '{}' FOR UPDATE", scene.agent);
    blocker.batch_execute(&locked).await.expect("locked");
    let take = {
        let scene = scene.clone();
        tokio::spawn(async move { scene.take(&consumers::identify(scene.agent, "main")).await })
    };
    until(&observer, SOMEBODY_WAITS).await;
    let start = {
        let scene = scene.clone();
        tokio::spawn(async move { scene.store.start_run(slot.session, run, HOUR).await })
    };
    until(&observer, TWO_WAIT).await;
    blocker.batch_execute("COMMIT").await.expect("released");
    let (taken, _, handed_back) = take.await.expect("no panic");
    let refusal = refused(start.await.expect("no panic"));
    assert_eq!(refusal, Refusal::Conflict("another connection holds this consumer"));
    assert_eq!(handed_back, []);
    scene.start(&taken, run).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_called_between_look_and_lock_is_told_too() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let sam = scene.person().await;
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    let locked = format!("BEGIN; SELECT 1 FROM streams WHERE id = '{}' FOR UPDATE", scene.agent);
    blocker.batch_execute(&locked).await.expect("locked");
    let finish = {
        let scene = scene.clone();
        tokio::spawn(async move { scene.finish(held, RunStatus::Succeeded).await })
    };
    until(&observer, SOMEBODY_WAITS).await;
    let call = format!(
        "INSERT INTO tool_calls (id, run_id, epoch, room_id, agent_id, user_id, tool, args, status, deadline)
         VALUES (gen_random_uuid(), '{}', 1, '{}', '{}', '{sam}', 'locate', '{{}}', 'pending', now() + interval '1 hour');
         COMMIT",
        held.run, scene.room, scene.agent
    );
    blocker.batch_execute(&call).await.expect("called");
    let (_, events) = finish.await.expect("no panic").expect("finished");
    assert_eq!(events.len(), 4, "with the notification of who asked for the run");
    assert_eq!(scene.inbox(sam).await, [events[1].clone()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ack_that_waited_for_a_taking_is_refused() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let slot = scene.hold().await;
    scene.run().await;
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    let taken = "BEGIN; UPDATE agent_consumer_cursors SET holder_session_id = gen_random_uuid()";
    blocker.batch_execute(taken).await.expect("locked");
    let (acked, kept) = {
        let (one, other) = (scene.clone(), scene.clone());
        (
            tokio::spawn(async move { one.store.ack(slot.session, 2).await }),
            tokio::spawn(async move { other.store.keep_consumers(&[slot.session], HOUR, HOUR).await }),
        )
    };
    until(&observer, TWO_WAIT).await;
    blocker.batch_execute("COMMIT").await.expect("released");
    assert!(matches!(refused(acked.await.expect("no panic")), Refusal::Conflict(_)));
    assert_eq!(kept.await.expect("no panic").expect("an answer").lost, [slot.session]);
    assert_eq!(database.query("SELECT 1 FROM agent_consumer_cursors WHERE cursor > 1").await.len(), 0);
}

/// What stands in the row survives, what stands in patches does not; nobody is shown a hole, and the holder makes it whole.
async fn patches_are_gone(scene: &Scene, held: store::runs::Holder, lose: impl AsyncFnOnce()) {
    scene.write(snapshot(held, 1, "[1]", r#"{"n":1}"#)).await;
    for base in 2..5 {
        scene.flush(held, base, "[]").await;
    }
    assert_eq!(news(&scene.update(held.run, 0, 0).await.change).1.len(), 3);
    lose().await;
    let seen = scene.see(held.run).await;
    assert_eq!((seen.version, seen.doc.version, seen.doc.patches.len()), (5, 2, 0));
    assert_eq!(news(&scene.update(held.run, 0, 0).await.change), (Some((2, r#"{"n":1}"#)), vec![]));
    assert_eq!(
        news(&scene.update(held.run, 1, 4).await.change),
        (None, vec![]),
        "what was seen is not taken back"
    );
    let kept = scene.store.keep_consumers(&[held.session], HOUR, HOUR).await.expect("an answer");
    assert_eq!(kept.emptied, [held.run]);

    assert_eq!(scene.flush(held, 5, "[5]").await, PatchOutcome::Emptied);
    assert_eq!(
        scene.flush(held, 4, "[]").await,
        PatchOutcome::Emptied,
        "one whose answer was lost in the crash"
    );
    let whole = r#"{"n":5}"#;
    assert_eq!(scene.write(snapshot(held, 5, "[5]", whole)).await, PatchOutcome::Written(6));
    assert_eq!(scene.flush(held, 6, "[6]").await, PatchOutcome::Written(7));
    assert_eq!(news(&scene.update(held.run, 1, 4).await.change), (Some((6, whole)), vec![(7, "[6]")]));
    assert_eq!(news(&scene.update(held.run, 1, 5).await.change), (None, vec![(6, "[5]"), (7, "[6]")]));
    let kept = scene.store.keep_consumers(&[held.session], HOUR, HOUR).await.expect("an answer");
    assert_eq!(kept.emptied, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_that_are_lost_are_made_up_for() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    patches_are_gone(&scene, held, async || drop(database.query("TRUNCATE run_patches").await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_takes_patches_and_nothing_else() {
    let mut server = OwnServer::durable().await;
    let settings = DatabaseSettings::with_url(server.url());
    migrate(&settings).await.expect("migrated");
    let world = World::from(Subject::new(store(&settings).await, ()));
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    patches_are_gone(&scene, held, async || {
        server.crash().await.expect("crashed");
        server.start_again().await.expect("started again");
        // Connections of before are found broken one by one.
        while scene.store.ping().await.is_err() {}
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rescue_of_one_agent_does_not_wait_for_anothers() {
    let (world, database) = world().await;
    let (one, other) = (Scene::new(world.clone(), 1).await, Scene::new(world, 1).await);
    for scene in [&one, &other] {
        let slot = scene.hold().await;
        let run = scene.run().await;
        scene.store.start_run(slot.session, run.id, Duration::ZERO).await.expect("started");
    }
    let settings = DatabaseSettings {
        statement_timeout: Duration::from_secs(1),
        ..DatabaseSettings::with_url(database.url())
    };
    let impatient = store(&settings).await;
    let blocker = beside(&database).await;
    let locked = format!("BEGIN; SELECT 1 FROM streams WHERE id = '{}' FOR UPDATE", one.agent);
    blocker.batch_execute(&locked).await.expect("locked");
    let rules = RescueRules { max_attempts: 1, ..PATIENT };
    let rescued = store::Runs::rescue_runs(&*impatient, &rules, 1).await.expect("the other one's");
    assert_eq!(rescued.agents, [other.agent], "also when what can't be moved fills the first page");
    let failed = store::Runs::rescue_runs(&*impatient, &rules, 1).await;
    assert!(matches!(failed, Err(StoreError::Timeout(_))), "{failed:?}");
    blocker.batch_execute("COMMIT").await.expect("released");
    let rescued = store::Runs::rescue_runs(&*impatient, &rules, 1).await.expect("now");
    assert_eq!(rescued.agents, [one.agent]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_go_an_hour_after_their_time() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let question = store::commands::Question {
        id: domain::RequestId::new(),
        agent: scene.agent,
        room: scene.room,
        user: scene.alex,
        command: "deploy".into(),
        input: String::new(),
    };
    scene.store.ask(&question, Duration::ZERO).await.expect("noted");
    let reap = async || scene.store.reap(HOUR, HOUR, 10).await.expect("reaped").questions;
    assert_eq!(reap().await, 0);
    database.query("UPDATE autocomplete_requests SET deadline = deadline - interval '61 min'").await;
    assert_eq!(reap().await, 1);
    assert_eq!(database.query("SELECT 1 FROM autocomplete_requests").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_are_forgotten_after_a_minute() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 9).await;
    let other = scene.worker(scene.alex, 9).await;
    scene.join(scene.alex, scene.room, other).await;
    let first = scene.requested(scene.room, other, scene.agent).await.run;
    assert_eq!(first.hops, 1);
    let slot = scene.hold().await;
    scene.start(&slot, first.id).await;
    scene.finish(holder(first.id, slot.session, 1), RunStatus::Succeeded).await.expect("finished");
    let next = async || scene.requested(scene.room, scene.agent, other).await.run.hops;
    assert_eq!(next().await, 2);
    database.query("UPDATE runs SET finished_at = finished_at - interval '61 s'").await;
    assert_eq!(next().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settling_that_waited_for_another_looks_anew() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let slot = scene.hold().await;
    let settle =
        |scene: Scene| async move { scene.store.settle_presence(&[scene.agent]).await.expect("an answer") };
    assert_eq!(settle(scene.clone()).await[0].status, AgentStatus::Online);
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    blocker.batch_execute("BEGIN; SELECT 1 FROM agents FOR NO KEY UPDATE").await.expect("locked");
    let waiting = tokio::spawn(settle(scene.clone()));
    until(&observer, SOMEBODY_WAITS).await;
    scene.store.release_consumer(slot.session, HOUR).await.expect("released");
    blocker.batch_execute("COMMIT").await.expect("released");
    let told = waiting.await.expect("no panic");
    assert_eq!((told[0].status, told[0].version), (AgentStatus::Offline, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_answered_meanwhile_does_not_expire() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let call = NewToolCall {
        id: domain::ToolCallId::new(),
        run: held.run,
        agent: scene.agent,
        session: None,
        epoch: None,
        user: scene.alex,
        tool: "locate".into(),
        args: "{}".into(),
        timeout: Duration::ZERO,
        nonce: None,
    };
    scene.store.call_tool(&call).await.expect("a call");
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    let answered = format!(
        "BEGIN; SELECT 1 FROM streams WHERE id = '{}' FOR UPDATE;
         UPDATE tool_calls SET status = 'answered', result = '1'",
        scene.agent
    );
    blocker.batch_execute(&answered).await.expect("locked");
    let expire = {
        let scene = scene.clone();
        tokio::spawn(async move { scene.store.expire_tools(10).await.expect("an answer") })
    };
    until(&observer, SOMEBODY_WAITS).await;
    blocker.batch_execute("COMMIT").await.expect("released");
    assert_eq!(expire.await.expect("no panic"), (vec![], vec![]));
    assert_eq!(database.query("SELECT 1 FROM tool_calls WHERE status = 'answered'").await.len(), 1);
}

/// There are none; if there were one, nobody would be led over it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_led_over_a_hole() {
    let (world, database) = world().await;
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    for base in 1..5 {
        scene.flush(held, base, "[]").await;
    }
    database.query("DELETE FROM run_patches WHERE version = 3").await;
    let patches =
        |doc: &store::runs::StoredDoc| doc.patches.iter().map(|patch| patch.version).collect::<Vec<_>>();
    assert_eq!(patches(&scene.see(held.run).await.doc), [2]);
    for (known, whole, after) in
        [(0, true, vec![2]), (1, true, vec![2]), (2, false, vec![]), (4, false, vec![5])]
    {
        let change = scene.update(held.run, u64::from(known > 0), known).await.change;
        let (snapshot, patches) = news(&change);
        let versions: Vec<u64> = patches.iter().map(|(version, _)| *version).collect();
        assert_eq!((snapshot.is_some(), versions), (whole, after), "from {known}");
    }
}
