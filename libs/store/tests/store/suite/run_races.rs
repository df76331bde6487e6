//! Many who do something to one run at once: one of them does it, and all say so.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::run::Reason;
use domain::{EventKind, RunId, RunStatus};
use futures_util::future::{join, join_all};
use store::runs::{NewRun, PatchOutcome, RescueRules};
use store::{Refusal, StoreError};

use super::consumers::{identify, resume};
use super::people::HOUR;
use super::scene::{PATIENT, Scene, finish, holder, new_run};
use super::world::{World, assert_whole, kinds};

const AT_ONCE: usize = 10;
const ROUNDS: usize = 8;

/// Calls, each in a task of its own, all at once.
async fn at_once<F>(scene: &Scene, call: impl Fn(Scene, usize) -> F) -> Vec<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let calls = (0..AT_ONCE).map(|number| tokio::spawn(call(scene.clone(), number)));
    join_all(calls).await.into_iter().map(|call| call.expect("no panic")).collect()
}

/// Whether a call was done; refused for the state of things it may be.
fn done<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(StoreError::Refused(Refusal::Conflict(_))) => false,
        other => panic!("{other:?}"),
    }
}

async fn whole(scene: &Scene) {
    assert_whole(&scene.page(scene.alex, scene.room).await);
    assert_whole(&scene.page(scene.agent, scene.agent).await);
}

pub(crate) async fn of_many_who_start_one_does(world: World) {
    let scene = Scene::new(world, 1).await;
    for round in 0..ROUNDS {
        let run = scene.run().await.id;
        let started = at_once(&scene, |scene, number| async move {
            let name = format!("{round} {}", number % 5);
            let (slot, ..) = scene.take(&identify(scene.agent, &name)).await;
            (slot.session, scene.store.start_run(slot.session, run, HOUR).await)
        })
        .await;
        let winners: Vec<_> =
            started.into_iter().filter_map(|(session, outcome)| Some((session, outcome.ok()?.run))).collect();
        // Two attempts have each name: who took the place last may have had the run handed back.
        let seen = scene.see(run).await;
        let epochs: BTreeSet<u64> = winners.iter().map(|(_, run)| run.epoch).collect();
        assert_eq!(epochs.len(), winners.len(), "one start, one epoch");
        assert_eq!(seen.epoch, winners.len() as u64);
        if seen.status == RunStatus::Running {
            let (session, _) = winners.iter().find(|(_, run)| run.epoch == seen.epoch).expect("a holder");
            scene.finish(holder(run, *session, seen.epoch), RunStatus::Succeeded).await.expect("finished");
        } else {
            assert_eq!(seen.reason, Some(Reason::HandedBack));
            scene.cancel(run).await.expect("cancelled");
        }
    }
    whole(&scene).await;
}

pub(crate) async fn a_start_and_a_taking_leave_one_holder(world: World) {
    let scene = Scene::new(world, 1).await;
    for round in 0..3 * ROUNDS {
        let slot = scene.hold().await;
        let run = scene.run().await.id;
        let (start, take) = {
            let (one, other) = (scene.clone(), scene.clone());
            join(
                tokio::spawn(async move { one.store.start_run(slot.session, run, HOUR).await }),
                tokio::spawn(async move {
                    if round % 2 == 0 {
                        other.take(&identify(other.agent, "main")).await
                    } else {
                        other.take(&resume(other.agent, slot.session)).await
                    }
                }),
            )
            .await
        };
        let (started, (taken, _, runs)) = (start.expect("no panic"), take.expect("no panic"));
        let seen = scene.see(run).await;
        let former = holder(run, slot.session, 1);
        assert_eq!(
            scene.flush(former, 1, "[]").await,
            PatchOutcome::Lost,
            "the former holder writes nothing"
        );
        let now = match (done(started), round % 2) {
            // It came first, and went to the new session.
            (true, 1) => {
                assert_eq!((seen.status, runs), (RunStatus::Running, vec![run]));
                holder(run, taken.session, 1)
            }
            (true, _) => {
                assert_eq!((seen.status, seen.reason), (RunStatus::Queued, Some(Reason::HandedBack)));
                assert_eq!(runs, [run]);
                scene.start(&taken, run).await;
                holder(run, taken.session, 2)
            }
            (false, _) => {
                assert_eq!((seen.status, seen.reason), (RunStatus::Queued, Some(Reason::Offered)));
                assert_eq!(runs, []);
                scene.start(&taken, run).await;
                holder(run, taken.session, 1)
            }
        };
        scene.finish(now, RunStatus::Succeeded).await.expect("finished");
    }
    whole(&scene).await;
}

pub(crate) async fn nothing_is_flushed_after_a_taking(world: World) {
    let scene = Scene::new(world, 1).await;
    for _ in 0..ROUNDS {
        let held = scene.working().await;
        let writer = tokio::spawn({
            let scene = scene.clone();
            async move {
                let mut version = scene.see(held.run).await.version;
                while let PatchOutcome::Written(next) = scene.flush(held, version, "[]").await {
                    assert_eq!(next, version + 1);
                    version = next;
                }
                version
            }
        });
        while scene.see(held.run).await.version < 8 {
            tokio::task::yield_now().await;
        }
        let (slot, ..) = scene.take(&identify(scene.agent, "main")).await;
        let after = scene.see(held.run).await.version;
        assert_eq!(writer.await.expect("no panic"), after, "what came later was lost, and said so");
        let again = scene.start(&slot, held.run).await.run;
        assert_eq!((again.version, again.doc.patches.len()), (after + 1, 0));
        scene.finish(holder(held.run, slot.session, 2), RunStatus::Succeeded).await.expect("finished");
    }
}

pub(crate) async fn many_flushes_of_many_runs_do_not_wait_for_ever(world: World) {
    let scene = Scene::new(world, 6).await;
    let slot = scene.hold().await;
    let runs: [_; 6] = scene.runs().await;
    for run in &runs {
        scene.start(&slot, run.id).await;
    }
    let runs = runs.map(|run| run.id);
    let written: Vec<usize> = at_once(&scene, |scene, number| async move {
        let mut order = runs.to_vec();
        order.rotate_left(number % 6);
        if number % 2 == 0 {
            order.reverse();
        }
        let mut written = 0;
        for _ in 0..20 {
            if number == 0 {
                scene.store.keep_consumers(&[slot.session], HOUR, HOUR).await.expect("kept");
            }
            let mut batch = Vec::new();
            for run in &order {
                let base = scene.see(*run).await.version;
                batch.push(super::scene::patch(holder(*run, slot.session, 1), base, &format!("[{number}]")));
            }
            let outcomes = scene.store.write_patches(&batch).await.expect("an answer");
            written += outcomes.iter().filter(|one| matches!(one, PatchOutcome::Written(_))).count();
        }
        written
    })
    .await;
    let mut versions = 0;
    for run in runs {
        let seen = scene.see(run).await;
        assert_eq!(seen.doc.patches.len() as u64, seen.version - 1, "no hole");
        versions += seen.version - 1;
    }
    assert!(versions > 100 && versions <= written.into_iter().sum::<usize>() as u64);
}

pub(crate) async fn an_end_and_a_cancel_agree(world: World) {
    let scene = Scene::new(world, 1).await;
    for _ in 0..2 * ROUNDS {
        let held = scene.working().await;
        let outcomes = at_once(&scene, |scene, number| async move {
            if number % 2 == 0 {
                scene.finish(held, RunStatus::Succeeded).await
            } else {
                scene.cancel(held.run).await
            }
        })
        .await;
        let seen = scene.see(held.run).await;
        let ended = outcomes
            .iter()
            .flatten()
            .flat_map(|(_, events)| events)
            .filter(|event| event.kind == EventKind::RunFinished)
            .count();
        assert_eq!(ended, 1, "{outcomes:?}");
        assert!(outcomes.iter().step_by(2).all(Result::is_ok), "its holder is told how it ended");
        let asked = outcomes.into_iter().skip(1).step_by(2).filter(|outcome| done(outcome.clone())).count();
        let status = if asked > 0 { RunStatus::Cancelled } else { RunStatus::Succeeded };
        assert_eq!((seen.status, seen.cancel_requested), (status, asked > 0));
    }
    whole(&scene).await;
}

pub(crate) async fn a_start_and_a_cancel_agree(world: World) {
    let scene = Scene::new(world, 1).await;
    let slot = scene.hold().await;
    for _ in 0..2 * ROUNDS {
        let run = scene.run().await.id;
        let outcomes = at_once(&scene, |scene, number| async move {
            if number % 2 == 0 {
                done(scene.store.start_run(slot.session, run, HOUR).await)
            } else {
                done(scene.cancel(run).await)
            }
        })
        .await;
        let seen = scene.see(run).await;
        let started = outcomes.iter().step_by(2).any(|done| *done);
        assert!(outcomes.iter().skip(1).step_by(2).all(|done| *done));
        if started {
            assert_eq!((seen.status, seen.cancel_requested, seen.epoch), (RunStatus::Running, true, 1));
            scene.finish(holder(run, slot.session, 1), RunStatus::Cancelled).await.expect("finished");
        } else {
            assert_eq!((seen.status, seen.epoch), (RunStatus::Cancelled, 0));
        }
    }
    whole(&scene).await;
}

pub(crate) async fn one_cause_is_one_run(world: World) {
    let scene = Scene::new(world, 3).await;
    for round in 0..ROUNDS {
        let made = at_once(&scene, |scene, _| async move {
            let cause = Some(format!("cause {round}"));
            let asked = NewRun { cause, ..new_run(scene.room, scene.alex, scene.agent) };
            scene.store.create_run(&asked).await.expect("a run")
        })
        .await;
        assert_eq!(made.iter().filter(|made| made.created).count(), 1);
        assert_eq!(made.iter().map(|made| made.run.id).collect::<BTreeSet<_>>().len(), 1);
    }
    whole(&scene).await;
}

pub(crate) async fn places_are_never_given_twice(world: World) {
    let scene = Scene::new(world, 3).await;
    let slot = scene.hold().await;
    let finished: Vec<usize> = at_once(&scene, |scene, number| async move {
        let mut finished = 0;
        for turn in 0..6 {
            let run = scene.run().await.id;
            if (number + turn) % 3 == 0 {
                // Somebody else may have worked on it by now.
                done(scene.cancel(run).await);
                continue;
            }
            // Whichever may be started just now.
            for open in scene.store.open_runs(scene.alex).await.expect("a list") {
                let Ok(started) = scene.store.start_run(slot.session, open.run, HOUR).await else { continue };
                if started.fresh {
                    let held = finish(holder(open.run, slot.session, 1), RunStatus::Succeeded);
                    scene.store.finish_run(&held).await.expect("finished");
                    finished += 1;
                    break;
                }
            }
            let mut active = 0;
            let mut offered = 0;
            for run in scene
                .store
                .runs_of_room(scene.alex.into(), scene.room, None, 1000)
                .await
                .expect("an answer")
                .expect("runs")
            {
                active += usize::from(run.status.is_active());
                offered += usize::from(run.reason == Some(Reason::Offered));
            }
            assert!(active + offered <= 3, "{active} and {offered}");
        }
        finished
    })
    .await;
    // Whoever is left is started in turn: nothing was forgotten.
    let mut left = scene.store.open_runs(scene.alex).await.expect("a list").len();
    assert!(left + finished.into_iter().sum::<usize>() <= AT_ONCE * 6);
    while left > 0 {
        let mut offered = Vec::new();
        for open in scene.store.open_runs(scene.alex).await.expect("a list") {
            if scene.see(open.run).await.reason == Some(Reason::Offered) {
                offered.push(open.run);
            }
        }
        assert_eq!(offered.len(), left.min(3));
        for run in offered {
            scene.start(&slot, run).await;
            scene.finish(holder(run, slot.session, 1), RunStatus::Succeeded).await.expect("finished");
            left -= 1;
        }
    }
    whole(&scene).await;
    let told = kinds(&scene.heard().await).len();
    assert!(told <= AT_ONCE * 6, "each was told once at most: {told}");
}

pub(crate) async fn rescuers_do_not_hinder_each_other(world: World) {
    let scene = Scene::new(world, 9).await;
    let rules = RescueRules { max_attempts: 99, ..PATIENT };
    for _ in 0..ROUNDS {
        let slot = scene.hold().await;
        let mut lost = BTreeSet::new();
        for open in scene.store.open_runs(scene.alex).await.expect("a list") {
            let started = scene.store.start_run(slot.session, open.run, Duration::ZERO).await;
            lost.insert(started.expect("started").run.id);
        }
        let run = scene.run().await.id;
        lost.insert(scene.store.start_run(slot.session, run, Duration::ZERO).await.expect("started").run.id);
        let moved = at_once(&scene, |scene, number| async move {
            if number == 0 {
                scene.store.keep_consumers(&[slot.session], HOUR, Duration::ZERO).await.expect("kept");
            }
            scene.rescue(rules).await
        })
        .await;
        let runs: Vec<RunId> = moved.iter().flat_map(|moved| &moved.runs).map(|(run, _)| *run).collect();
        assert_eq!(runs.len(), lost.len(), "each was moved once");
        assert_eq!(runs.into_iter().collect::<BTreeSet<_>>(), lost);
    }
    whole(&scene).await;
}
