//! The documents of runs: flushes, and what those who follow are given.

use domain::run::Reason;
use domain::{RunId, RunStatus, SlotSessionId};
use store::runs::PatchOutcome::{Emptied, Lost, Written};
use store::runs::{Holder, Known, Patch};

use super::consumers::resume;
use super::people::HOUR;
use super::scene::{Scene, holder, news, patch, snapshot};
use super::world::World;

const EMPTY: (u64, &str) = (1, r#"{"items":[]}"#);

pub(crate) async fn patches_lead_from_version_to_version(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    assert_eq!(scene.flush(held, 1, "[1]").await, Written(2));
    assert_eq!(scene.flush(held, 2, "[ 2 ]").await, Written(3));
    let seen = scene.see(held.run).await;
    assert_eq!((seen.version, seen.epoch, seen.doc.version), (3, 1, 1));
    let change = scene.update(held.run, 0, 0).await.change;
    assert_eq!(news(&change), (Some(EMPTY), vec![(2, "[1]"), (3, "[ 2 ]")]), "as they were written");

    assert_eq!(scene.write(snapshot(held, 3, "[3]", "{ }")).await, Written(4));
    let seen = scene.see(held.run).await;
    assert_eq!((&*seen.doc.doc, seen.doc.version, seen.doc.patches.len()), ("{ }", 4, 0));
    assert_eq!(scene.flush(held, 4, "[4]").await, Written(5));
    assert_eq!(scene.see(held.run).await.doc.patches[0].version, 5);
}

pub(crate) async fn a_batch_has_an_outcome_for_each(world: World) {
    let scene = Scene::new(world, 9).await;
    let slot = scene.hold().await;
    let runs: [_; 4] = scene.runs().await;
    for run in &runs {
        scene.start(&slot, run.id).await;
    }
    let [one, two, three, four] = runs.map(|run| holder(run.id, slot.session, 1));
    scene.finish(three, RunStatus::Succeeded).await.expect("finished");
    let stranger = Holder { session: SlotSessionId::new(), ..two };
    let batch = [
        patch(four, 1, "[1]"),
        patch(one, 7, "[1]"),
        patch(three, 2, "[1]"),
        patch(stranger, 1, "[1]"),
        patch(four, 2, "[2]"),
        patch(two, 1, "[1]"),
        patch(holder(RunId::new(), slot.session, 1), 1, "[1]"),
    ];
    let outcomes = scene.store.write_patches(&batch).await.expect("an answer");
    assert_eq!(outcomes, [Written(2), Emptied, Lost, Lost, Written(3), Written(2), Lost]);
    assert_eq!(scene.store.write_patches(&[]).await.expect("an answer"), []);
}

pub(crate) async fn a_flush_is_repeatable(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    for repeated in [patch(held, 1, "[1]"), snapshot(held, 2, "[2]", "{}")] {
        let written = scene.write(repeated.clone()).await;
        assert_eq!(scene.write(repeated.clone()).await, written, "the answer was lost");
        assert_eq!(scene.see(held.run).await.version, repeated.base + 1);
    }
    // What was sent meanwhile went into it: nobody knows which of them stands, so the whole document says it.
    assert_eq!(scene.flush(held, 2, "[2, 3]").await, Emptied);
    assert_eq!(scene.write(snapshot(held, 2, "[2, 3]", r#"{"a":3}"#)).await, Written(4));
    assert_eq!(scene.flush(held, 4, "[4]").await, Written(5));
    let change = scene.update(held.run, 1, 3).await.change;
    assert_eq!(news(&change), (Some((4, r#"{"a":3}"#)), vec![(5, "[4]")]), "no patch leads there");
    // A holder that knows more than the database that was restored.
    assert_eq!(scene.flush(held, 9, "[5]").await, Emptied);
    assert_eq!(scene.write(snapshot(held, 9, "[5]", "{}")).await, Written(10), "never a version again");
}

pub(crate) async fn only_the_holder_flushes(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let (slot, ..) = scene.take(&resume(scene.agent, held.session)).await;
    let now = Holder { session: slot.session, ..held };
    for wrong in [held, Holder { epoch: 2, ..now }, Holder { epoch: 0, ..now }] {
        assert_eq!(scene.flush(wrong, 1, "[1]").await, Lost);
        assert_eq!(scene.write(snapshot(wrong, 1, "[1]", "{}")).await, Lost);
    }
    assert_eq!(scene.see(held.run).await.version, 1);
    assert_eq!(scene.flush(now, 1, "[1]").await, Written(2));
    scene.finish(now, RunStatus::Succeeded).await.expect("finished");
    assert_eq!(scene.flush(now, 3, "[1]").await, Lost);
}

pub(crate) async fn watchers_are_given_what_they_lack(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    for base in 1..=4 {
        scene.flush(held, base, &format!("[{base}]")).await;
    }
    let change = async |epoch, version| scene.update(held.run, epoch, version).await.change;
    assert_eq!(news(&change(1, 3).await), (None, vec![(4, "[3]"), (5, "[4]")]));
    assert_eq!(news(&change(1, 5).await), (None, vec![]), "nothing is new");
    assert_eq!(news(&change(0, 5).await).0, Some(EMPTY), "another execution");
    assert_eq!(news(&change(1, 9).await), (None, vec![]), "what was shown is not taken back");
    scene.write(snapshot(held, 5, "[5]", "{}")).await;
    scene.flush(held, 6, "[6]").await;
    assert_eq!(
        news(&change(1, 4).await),
        (None, vec![(5, "[4]"), (6, "[5]"), (7, "[6]")]),
        "over a snapshot"
    );
    assert_eq!(news(&change(0, 0).await), (Some((6, "{}")), vec![(7, "[6]")]));

    let update = scene.update(held.run, 1, 7).await;
    assert_eq!((update.run, update.room, update.agent), (held.run, scene.room, scene.agent));
    assert_eq!((update.epoch, update.version, update.status), (1, 7, RunStatus::Running));
    assert_eq!((update.reason, update.cancel_requested), (None, false));
    scene.cancel(held.run).await.expect("asked");
    assert!(scene.update(held.run, 1, 7).await.cancel_requested);
    let (over, _) = scene.finish(held, RunStatus::Succeeded).await.expect("finished");
    let update = scene.update(held.run, 1, 7).await;
    assert_eq!((update.status, update.reason), (RunStatus::Cancelled, Some(Reason::Cancelled)));
    assert_eq!(news(&update.change), (Some((8, &*over.doc.doc)), vec![]));
    assert_eq!(news(&change(1, 8).await), (None, vec![]));
}

pub(crate) async fn updates_are_of_many_runs(world: World) {
    let scene = Scene::new(world, 9).await;
    let slot = scene.hold().await;
    let runs: [_; 3] = scene.runs().await;
    for run in &runs {
        scene.start(&slot, run.id).await;
        scene.flush(holder(run.id, slot.session, 1), 1, "[1]").await;
    }
    let known = |run, version| Known { run, epoch: 1, version };
    let asked = [known(runs[2].id, 2), known(RunId::new(), 1), known(runs[0].id, 1), known(runs[1].id, 0)];
    let updates = scene.store.run_updates(&asked).await.expect("an answer");
    let found: Vec<_> = updates.iter().map(|update| (update.run, news(&update.change))).collect();
    let expected = [
        (runs[2].id, (None, vec![])),
        (runs[0].id, (None, vec![(2, "[1]")])),
        (runs[1].id, (Some(EMPTY), vec![(2, "[1]")])),
    ];
    assert_eq!(found, expected);
    assert_eq!(scene.store.run_updates(&[]).await.expect("an answer"), []);
    // Who knows nothing of a run that was never started is given its document all the same.
    let [queued] = scene.runs().await;
    let nothing = Known { run: queued.id, epoch: 0, version: 0 };
    let updates = scene.store.run_updates(&[nothing]).await.expect("an answer");
    let found: Vec<_> = updates.iter().map(|update| (update.run, news(&update.change))).collect();
    assert_eq!(found, [(queued.id, (Some((0, EMPTY.1)), vec![]))]);
    scene.store.release_consumer(slot.session, HOUR).await.expect("released");
    let waits = scene.run().await;
    assert_eq!(scene.update(waits.id, 0, 0).await.reason, Some(Reason::AgentOffline));
}

pub(crate) async fn old_patches_go_with_a_snapshot(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let last = 80;
    for base in 1..last {
        scene.flush(held, base, "[]").await;
    }
    let kept = async |version| news(&scene.update(held.run, 1, version).await.change).0.is_none();
    assert!(kept(1).await, "all of them until then");
    scene.write(snapshot(held, last, "[]", "{}")).await;
    assert!(kept(last + 1 - 65).await, "who is a little behind goes on");
    assert!(!kept(last + 1 - 66).await);
}

/// Whoever knows a version of a run is given what leads from there to what stands, whenever they ask.
pub(crate) async fn followers_see_no_hole(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let writer = tokio::spawn({
        let scene = scene.clone();
        async move {
            for base in 1..200_u64 {
                let ops = format!("[{}]", base + 1);
                let doc = format!("{}", base + 1);
                let snapshot = (base % 7 == 0).then(|| doc.into());
                let written = scene.write(Patch { snapshot, ..patch(held, base, &ops) }).await;
                assert_eq!(written, Written(base + 1));
            }
        }
    });
    let mut version = 0;
    while version < 200 {
        let update = scene.update(held.run, 1, version).await;
        let (whole, patches) = news(&update.change);
        if let Some((snapshot, doc)) = whole {
            assert!(snapshot == 1 || doc == snapshot.to_string(), "{doc} is not that of {snapshot}");
            version = snapshot;
        }
        for (next, ops) in patches {
            assert_eq!((next, ops), (version + 1, &*format!("[{next}]")));
            version = next;
        }
        assert_eq!(version, update.version);
    }
    writer.await.expect("no panic");
}
