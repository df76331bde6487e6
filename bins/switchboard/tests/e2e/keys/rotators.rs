//! Rotators that meet, are stopped in the middle, or have a wrong clock.

use std::process::{Child, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{A_LIFE, Driver, Keyed, kid_of, text};
use crate::program::{Ran, run};

async fn two_at_once(driver: Driver) {
    let keyed = Keyed::start(driver).await;
    for _ in 0..3 {
        let before = keyed.states(1).await.len();
        let commands = join_all((0..3).map(|_| run(keyed.command("keys rotate"))));
        let calls = join_all((0..4).map(|n| {
            let keyed = &keyed;
            async move { keyed.administer(1 + n % 2, "/v1/admin/keys/rotate", &json!({})).await }
        }));
        let (commands, calls) = tokio::join!(commands, calls);
        let made = commands.iter().filter(|ran| ran.code == 0).count()
            + calls.iter().filter(|(status, _)| *status == 200).count();
        assert_eq!(made, 1, "{commands:?} {calls:?}");
        assert_eq!(keyed.states(2).await.len(), before + 1);
        for Ran { code, err, .. } in &commands {
            assert!(*code == 0 || err.contains("a rotation is under way"), "{err}");
        }
        for (status, body) in &calls {
            let detail = body["detail"].as_str().unwrap_or_default();
            let told = detail.contains("made by") && detail.contains("signs from");
            assert!(*status == 200 || (*status == 409 && told), "{status} {body}");
        }
        keyed.until_everywhere("published", 0.0).await;
    }
    let said = run(keyed.command("keys list")).await.good();
    assert!(said.out.contains("active") && said.out.lines().count() > 1, "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_rotators_at_once_on_a_directory_one_rotates() {
    two_at_once(Driver::Dir).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_rotators_at_once_on_the_database_one_rotates() {
    two_at_once(Driver::Postgres).await;
}

fn signal(child: &Child, signal: Signal) {
    let pid = child.id().try_into().ok().and_then(Pid::from_raw).expect("a process");
    // One that has ended already is not stopped any more.
    let _gone = kill_process(pid, signal);
}

/// Rotators are stopped at any point, others work meanwhile, and they wake when their time is long over.
async fn stopped_in_the_middle(driver: Driver) {
    let keyed = Keyed::start(driver).await;
    let mut stopped = Vec::new();
    for turn in 0..24_u64 {
        let mut command = keyed.command("keys rotate");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the program runs");
        tokio::time::sleep(Duration::from_millis(10 + turn * 25)).await;
        signal(&child, Signal::STOP);
        stopped.push(child);
        let kept = keyed.token(1, "robin").await;
        keyed.accepted_everywhere(&kept).await;
    }
    // Whatever they hold, others go on.
    let rotated = async {
        loop {
            let (status, body) = keyed.administer(2, "/v1/admin/keys/rotate", &json!({})).await;
            match status {
                200 => break text(&body["kid"]),
                409 => tokio::time::sleep(Duration::from_millis(200)).await,
                other => panic!("{other} {body}"),
            }
        }
    };
    let made = tokio::time::timeout(A_LIFE, rotated).await.expect("in time");
    let retired = async {
        while keyed.states(1).await.iter().any(|(_, state)| state == "retired") {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(A_LIFE, retired).await.expect("the keys before it are deleted");
    for child in &stopped {
        signal(child, Signal::CONT);
        let token = keyed.token(1, "robin").await;
        keyed.accepted_everywhere(&token).await;
    }
    for mut child in stopped {
        tokio::task::spawn_blocking(move || child.wait()).await.expect("no panic").expect("its end");
    }
    let there = keyed.states(1).await;
    assert!(there.iter().any(|(kid, _)| *kid == made), "the key that signs is still there: {there:?}");
    assert!(there.iter().filter(|(_, state)| state == "active").count() == 1, "{there:?}");
    let listed = run(keyed.command("keys list")).await.good();
    assert!(!listed.out.contains("unreadable"), "{listed:?}");
    let token = keyed.token(2, "robin").await;
    keyed.accepted_everywhere(&token).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_rotators_stopped_in_the_middle_wipe_nothing_of_a_directory() {
    stopped_in_the_middle(Driver::Dir).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_rotators_stopped_in_the_middle_wipe_nothing_of_the_database() {
    stopped_in_the_middle(Driver::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_node_whose_clock_is_an_hour_ahead_rotates_nothing_and_deletes_nothing() {
    let keyed = Keyed::with(Driver::Dir, |options| {
        options.setting("signing_key.rotate_every", "20m").wrong_clock("api-2", "+1h")
    })
    .await;
    let first = keyed.until_states(&["active"]).await.remove(0);
    let made = text(&keyed.rotate(1).await["kid"]);
    keyed.until_everywhere("published", 0.0).await;
    assert_eq!(keyed.until_states(&["retired", "active"]).await, [first, made.clone()]);
    let token = keyed.token(1, "robin").await;
    assert_eq!(kid_of(&token), made);
    // api-2 has had many rounds since: by its clock the next rotation is due, and the first key was to be deleted an hour ago.
    let before = keyed.states(1).await;
    tokio::time::sleep(super::CACHE_TTL).await;
    assert_eq!(keyed.states(1).await, before);
    assert_eq!(keyed.until_states(&["active"]).await, [made]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_by_a_schedule_keys_follow_each_other_without_a_leader() {
    let keyed =
        Keyed::with(Driver::Postgres, |options| options.setting("signing_key.rotate_every", "10s")).await;
    let mut rotations = 0.0;
    let turned = async {
        while rotations < 3.0 {
            let token = keyed.token(1, "robin").await;
            keyed.accepted_everywhere(&token).await;
            let name = "switchboard_signing_key_rotations_total";
            let of = [keyed.world.metric("api-1", name).await, keyed.world.metric("api-2", name).await];
            rotations = of.iter().flatten().sum();
            let published = keyed.states(2).await.iter().filter(|(_, state)| state == "published").count();
            assert!(published <= 1);
        }
    };
    tokio::time::timeout(A_LIFE, turned).await.expect("three rotations");
}
