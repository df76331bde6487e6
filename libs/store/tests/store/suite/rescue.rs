//! Runs that stand still.

use std::time::Duration;

use domain::run::Reason;
use domain::{RunStatus, Sender};
use store::consumers::Kept;
use store::runs::{PatchOutcome, RescueRules};

use super::consumers::{identify, resume};
use super::people::HOUR;
use super::scene::{NOTIFIED, PATIENT, Scene, holder, told};
use super::world::{World, data};

async fn stands(scene: &Scene, run: domain::RunId) -> (RunStatus, Option<Reason>, u32) {
    let seen = scene.see(run).await;
    (seen.status, seen.reason, seen.attempts)
}

pub(crate) async fn nothing_due_is_left_alone(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    scene.run().await;
    scene.cancel(held.run).await.expect("asked");
    let rescued = scene.rescue(PATIENT).await;
    assert_eq!((rescued.events, rescued.runs, rescued.agents), (vec![], vec![], vec![]));
}

pub(crate) async fn a_lost_holder_is_replaced_until_attempts_end(world: World) {
    let scene = Scene::new(world, 1).await;
    let slot = scene.hold().await;
    let (run, next) = (scene.run().await, scene.run().await);
    let rules = RescueRules { max_attempts: 2, ..PATIENT };
    for attempt in 1..=2 {
        let started = scene.store.start_run(slot.session, run.id, Duration::ZERO).await.expect("started");
        assert_eq!((started.run.epoch, started.run.attempts), (u64::from(attempt), attempt));
        let rescued = scene.rescue(rules).await;
        assert_eq!(rescued.runs, [(run.id, u64::from(attempt))]);
        assert_eq!(rescued.agents, [scene.agent]);
        let lost = scene.flush(holder(run.id, slot.session, u64::from(attempt)), 1, "[]").await;
        assert_eq!(lost, PatchOutcome::Lost);
        if attempt == 1 {
            assert_eq!(told(&rescued.events), [("agent", "run.requested")]);
            assert_eq!(stands(&scene, run.id).await, (RunStatus::Queued, Some(Reason::HolderLost), 1));
            assert_eq!(scene.see(next.id).await.reason, Some(Reason::AgentBusy), "it keeps its place");
        } else {
            assert_eq!(
                told(&rescued.events),
                [("room", "run.finished"), ("agent", "run.requested"), NOTIFIED]
            );
            assert_eq!(data(&rescued.events[0])["status"], "expired");
            assert_eq!(rescued.events[0].sender, Sender::System);
            assert_eq!(stands(&scene, run.id).await, (RunStatus::Expired, Some(Reason::HolderLost), 2));
        }
    }
    assert_eq!(scene.see(next.id).await.reason, Some(Reason::Offered));
}

pub(crate) async fn leases_are_kept_by_heartbeats(world: World) {
    let scene = Scene::new(world, 2).await;
    let slot = scene.hold().await;
    let (one, two) = (scene.run().await, scene.run().await);
    for run in [&one, &two] {
        scene.store.start_run(slot.session, run.id, Duration::ZERO).await.expect("started");
    }
    let keep =
        async |lease| scene.store.keep_consumers(&[slot.session], HOUR, lease).await.expect("an answer");
    assert_eq!(keep(HOUR).await, Kept::default());
    assert_eq!(scene.rescue(PATIENT).await.runs, []);
    scene.store.release_consumer(slot.session, HOUR).await.expect("released");
    assert_eq!(scene.rescue(PATIENT).await.runs, [], "who may come back has time to");
    let (slot, ..) = scene.take(&resume(scene.agent, slot.session)).await;
    assert_eq!(scene.rescue(PATIENT).await.runs, []);
    scene.store.release_consumer(slot.session, Duration::ZERO).await.expect("released");
    assert_eq!(scene.rescue(PATIENT).await.runs.len(), 2);
    let (_, _, handed_back) = scene.take(&identify(scene.agent, "main")).await;
    assert_eq!(handed_back, [], "nobody holds them");
}

pub(crate) async fn who_does_not_stop_is_stopped(world: World) {
    let scene = Scene::new(world, 2).await;
    let slot = scene.hold().await;
    let [slow, gone] = scene.runs().await;
    scene.start(&slot, slow.id).await;
    scene.store.start_run(slot.session, gone.id, Duration::ZERO).await.expect("started");
    for run in [&slow, &gone] {
        scene.cancel(run.id).await.expect("asked");
    }
    let rescued = scene.rescue(PATIENT).await;
    assert_eq!(rescued.runs, [(gone.id, 1)], "a lost one goes on nowhere");
    assert_eq!(told(&rescued.events), [("room", "run.finished")]);
    assert_eq!(stands(&scene, gone.id).await, (RunStatus::Cancelled, Some(Reason::Cancelled), 1));
    let rescued = scene.rescue(RescueRules { cancel_grace: Duration::ZERO, ..PATIENT }).await;
    assert_eq!(rescued.runs, [(slow.id, 1)]);
    assert_eq!(stands(&scene, slow.id).await, (RunStatus::Cancelled, Some(Reason::Cancelled), 1));
    // Its holder hears of it and says so: that is what stands.
    let late = scene.finish(holder(slow.id, slot.session, 1), RunStatus::Cancelled).await;
    assert_eq!(late.expect("it is cancelled").1, []);
}

pub(crate) async fn work_and_waiting_end_sometime(world: World) {
    let scene = Scene::new(world, 2).await;
    let slot = scene.hold().await;
    let [endless, untaken, placeless] = scene.runs().await;
    scene.start(&slot, endless.id).await;
    let rescued = scene.rescue(RescueRules { max_runtime: Duration::ZERO, ..PATIENT }).await;
    assert_eq!(rescued.runs, [(endless.id, 1)]);
    assert_eq!(stands(&scene, endless.id).await, (RunStatus::Expired, Some(Reason::MaxRuntime), 1));
    assert_eq!(told(&rescued.events), [("room", "run.finished"), ("agent", "run.requested"), NOTIFIED]);
    let waits = scene.run().await;
    assert_eq!(scene.see(waits.id).await.reason, Some(Reason::AgentBusy));
    let rescued = scene.rescue(RescueRules { queue_limit: Duration::ZERO, ..PATIENT }).await;
    assert_eq!(rescued.runs.len(), 3);
    for run in [untaken, placeless, waits] {
        assert_eq!(stands(&scene, run.id).await, (RunStatus::Expired, Some(Reason::NotTaken), 0));
    }
}

pub(crate) async fn a_rescue_is_bounded_and_comes_to_its_end(world: World) {
    let scene = Scene::new(world.clone(), 3).await;
    let other = Scene::new(world, 2).await;
    for scene in [&scene, &other] {
        let slot = scene.hold().await;
        let started: [_; 2] = scene.runs().await;
        for run in started {
            scene.store.start_run(slot.session, run.id, Duration::ZERO).await.expect("started");
        }
    }
    let last = RescueRules { max_attempts: 1, ..PATIENT };
    let first = scene.store.rescue_runs(&last, 3).await.expect("an answer");
    assert_eq!(first.runs.len(), 3);
    assert_eq!(first.agents.len(), 2);
    let second = scene.store.rescue_runs(&last, 3).await.expect("an answer");
    assert_eq!((second.runs.len(), second.agents.len()), (1, 1));
    assert_eq!(scene.store.rescue_runs(&last, 3).await.expect("an answer").runs, []);
}
