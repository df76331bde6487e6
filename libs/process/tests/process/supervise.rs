//! What ends a node, and in which order it goes.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use process::health::Health;
use process::supervise::{Cause, Failure, Phase, ShutdownSettings, Supervisor, signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

fn supervisor(deadline: Duration) -> Supervisor {
    Supervisor::new(ShutdownSettings { deadline, ..ShutdownSettings::default() })
}

const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_critical_task_that_leaves_stops_the_node_with_its_name() {
    let supervisor = supervisor(DEADLINE);
    supervisor.at(Phase::Bus).critical("listener", ready(()));
    let health = Health::new();
    let failure = supervisor.run_until(pending::<()>(), &health).await.expect_err("must stop");
    assert_eq!(failure, Failure { name: "listener".to_owned(), cause: Cause::Ended });
    assert_eq!(failure.to_string(), "the task listener ended");
    assert!(health.is_draining());
}

#[tokio::test]
async fn errors_and_panics_of_critical_tasks_are_told() {
    let failing = supervisor(DEADLINE);
    failing.at(Phase::Intake).critical("poller", ready(Err::<Infallible, _>("no database")));
    let failure = failing.run_until(pending::<()>(), &Health::new()).await.expect_err("must stop");
    assert_eq!(failure.to_string(), "the task poller failed: no database");

    let panicking = supervisor(DEADLINE);
    panicking.at(Phase::Intake).critical("relay", async { panic!("shard {}", 3) as () });
    let failure = panicking.run_until(pending::<()>(), &Health::new()).await.expect_err("must stop");
    assert_eq!(failure.to_string(), "the task relay panicked: shard 3");
}

#[tokio::test]
async fn transient_tasks_may_end_fail_and_panic() {
    let supervisor = supervisor(DEADLINE);
    let tasks = supervisor.at(Phase::Drain);
    tasks.transient("connection", ready(()));
    tasks.transient("connection", ready(Err::<(), _>("reset by peer")));
    tasks.transient("connection", async { panic!("broken connection") as () });
    let (stop, stopped) = oneshot::channel::<()>();
    let watched = tasks.clone();
    tasks.transient("the last one", async move {
        while watched.running() > 1 {
            tokio::task::yield_now().await;
        }
        let _ = stop.send(());
    });
    supervisor.run_until(stopped, &Health::new()).await.expect("nothing critical happened");
    assert_eq!(tasks.running(), 0);
}

#[tokio::test]
async fn phases_stop_one_after_the_other() {
    let supervisor = supervisor(DEADLINE);
    let order = Arc::new(Mutex::new(Vec::new()));
    let health = Health::new();
    for phase in Phase::ALL {
        let (order, token, health) = (order.clone(), supervisor.token(phase), health.clone());
        supervisor.at(phase).critical(phase.as_str(), async move {
            token.cancelled().await;
            assert!(health.is_draining(), "readiness is off before anything stops");
            // A phase that did not wait for the one before would overtake it here.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            order.lock().push(phase);
        });
    }
    supervisor.run_until(ready(()), &health).await.expect("an ordered stop");
    assert_eq!(*order.lock(), Phase::ALL);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_leave_is_aborted_and_the_later_phases_keep_their_time() {
    let supervisor = supervisor(DEADLINE);
    let stubborn = supervisor.at(Phase::Drain);
    stubborn.transient("connection", pending::<()>());
    let (token, began) = (supervisor.token(Phase::Handover), Instant::now());
    let (handed_over, at) = oneshot::channel();
    supervisor.at(Phase::Handover).critical("presence", async move {
        token.cancelled().await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        let _ = handed_over.send(Instant::now());
    });
    supervisor.run_until(ready(()), &Health::new()).await.expect("an ordered stop");
    assert!(at.await.expect("presence was handed over") - began < DEADLINE);
    assert!(began.elapsed() <= DEADLINE, "{:?}", began.elapsed());
    assert_eq!(stubborn.running(), 0, "aborted");
}

#[tokio::test(start_paused = true)]
async fn a_task_started_after_its_phase_is_aborted_at_once() {
    let supervisor = supervisor(DEADLINE);
    let late = supervisor.at(Phase::Intake);
    let (dropped, was_dropped) = oneshot::channel::<()>();
    let token = supervisor.token(Phase::Bus);
    supervisor.at(Phase::Bus).critical("late starter", async move {
        token.cancelled().await;
        late.transient("late", async move {
            let _dropped = dropped;
            pending::<()>().await;
        });
    });
    supervisor.run_until(ready(()), &Health::new()).await.expect("an ordered stop");
    assert!(was_dropped.await.is_err(), "its future was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_node_serves_on_for_the_lead_but_not_without_its_critical_tasks() {
    let settings = ShutdownSettings { lead: Duration::from_secs(5), ..ShutdownSettings::default() };
    let patient = Supervisor::new(settings.clone());
    let (token, began) = (patient.token(Phase::Intake), Instant::now());
    let (told, at) = oneshot::channel();
    patient.at(Phase::Intake).critical("http", async move {
        token.cancelled().await;
        let _ = told.send(Instant::now());
    });
    patient.run_until(ready(()), &Health::new()).await.expect("an ordered stop");
    assert_eq!(at.await.expect("told") - began, Duration::from_secs(5));

    let broken = Supervisor::new(settings);
    broken.at(Phase::Bus).critical("listener", tokio::time::sleep(Duration::from_secs(1)));
    let began = Instant::now();
    broken.run_until(ready(()), &Health::new()).await.expect("was told to stop anyway");
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn dropping_the_supervisor_aborts_everything() {
    let supervisor = supervisor(DEADLINE);
    let (dropped, was_dropped) = oneshot::channel::<()>();
    supervisor.at(Phase::Bus).critical("listener", async move {
        let _dropped = dropped;
        pending::<()>().await;
    });
    drop(supervisor);
    assert!(was_dropped.await.is_err());
}

#[tokio::test]
async fn the_signals_of_the_operating_system_stop_a_node() {
    for name in ["TERM", "INT"] {
        let mut signal = Box::pin(signal());
        assert!(futures_util::poll!(&mut signal).is_pending(), "the handler stands, nothing came");
        let own = std::process::id().to_string();
        let status = std::process::Command::new("kill").args(["-s", name, &own]).status();
        assert!(status.expect("kill runs").success());
        assert_eq!(signal.await.expect("signals work"), format!("SIG{name}"));
    }
}
