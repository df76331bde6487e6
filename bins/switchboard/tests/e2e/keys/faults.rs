//! Stores that can't be read, are half written, or are not there when a node starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use testkit::cluster::ClusterOptions;
use testkit::postgres::OwnServer;

use super::{A_LIFE, Driver, Keyed, forged, kid_of};
use crate::program::run;
use crate::world::World;

/// Something that happens to a store, and is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The volume is gone: the directory, or the table.
    Gone,
    /// An empty directory is mounted in place of it.
    Empty,
    /// The newest manifest is half written.
    HalfManifest,
    /// The files of all keys are half written.
    HalfKeys,
    /// The directory is open to everybody.
    Open,
}

/// How long a node goes on with what it has read, where that is waited for many times.
const SHORT_TTL: Duration = Duration::from_secs(2);

/// Nodes that look often, and keys that outlive all faults together, however slow the machine is.
fn long_lived(options: ClusterOptions) -> ClusterOptions {
    options.setting("signing_key.cache_ttl", "2s").setting("auth.access_ttl", "10m")
}

const OF_DIRECTORIES: [Fault; 5] =
    [Fault::Gone, Fault::Empty, Fault::HalfManifest, Fault::HalfKeys, Fault::Open];

fn newest_manifest(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry").path());
    let is_one = |path: &PathBuf| path.to_string_lossy().contains("/manifest-");
    entries.filter(is_one).max().expect("a manifest")
}

fn halve(path: &Path) {
    let whole = fs::read(path).expect("readable");
    fs::write(path, &whole[..whole.len() / 2]).expect("written");
}

/// Breaks a directory; gives back what it was.
fn break_directory(dir: &Path, fault: Fault) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let aside = dir.with_extension("aside");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    };
    fs::rename(dir, &aside).expect("renamed");
    if fault == Fault::Gone {
        return aside;
    }
    fs::create_dir(dir).expect("made");
    mode(dir, 0o700);
    if fault == Fault::Empty {
        return aside;
    }
    for entry in fs::read_dir(&aside).expect("readable") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, dir.join(path.file_name().expect("a name"))).expect("copied");
    }
    match fault {
        Fault::HalfManifest => halve(&newest_manifest(dir)),
        Fault::HalfKeys => {
            let entries = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry").path());
            entries
                .filter(|path| path.extension().is_some_and(|end| end == "pem"))
                .for_each(|path| halve(&path));
        }
        _ => mode(dir, 0o777),
    }
    aside
}

fn mend_directory(dir: &Path, aside: &Path) {
    drop(fs::remove_dir_all(dir));
    fs::rename(aside, dir).expect("renamed");
}

impl Keyed {
    /// While the store is broken everything goes on as before, and nothing is changed.
    async fn goes_on(&self, what: &str, is_unreadable: bool) {
        for node in super::NODES {
            let name = "switchboard_signing_key_read_errors_total";
            let before = self.world.metric(node, name).await.expect("a number");
            // The second one began after the fault.
            self.world.until_metric(node, name, |errors| errors > before + 1.0).await;
        }
        let token = self.token(1, "robin").await;
        self.accepted_everywhere(&token).await;
        let (status, body) = self.administer(2, "/v1/admin/keys/rotate", &json!({})).await;
        assert!([500, 503].contains(&status), "{what}: {status} {body}");
        let refused = run(self.command("keys rotate")).await;
        assert_eq!(refused.code, 1, "{what}: {refused:?}");
        for node in super::NODES {
            let (ready, body) = self.world.cluster.admin(node, "/healthz/ready").await.expect("an answer");
            assert_eq!(ready, 200, "{what}: {node} {body}");
        }
        // What nobody can judge is not refused.
        let expected = if is_unreadable { 503 } else { 401 };
        assert_eq!(self.status(1, &forged(&token)).await, expected, "{what}");
    }

    /// As [`goes_on`](Self::goes_on) for each fault of a directory, then mends it and makes sure that all is as before.
    async fn survives_all(&self, step: &str) {
        let dir = self.dir();
        for fault in OF_DIRECTORIES {
            let before = self.states(1).await;
            let aside = break_directory(&dir, fault);
            self.goes_on(&format!("{fault:?} {step}"), fault != Fault::HalfKeys).await;
            mend_directory(&dir, &aside);
            let read = async {
                let token = self.token(1, "robin").await;
                while self.status(1, &forged(&token)).await != 401 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            tokio::time::timeout(A_LIFE, read).await.expect("it is read again");
            let kids =
                |states: Vec<(String, String)>| states.into_iter().map(|(kid, _)| kid).collect::<Vec<_>>();
            let (before, after) = (kids(before), kids(self.states(1).await));
            assert!(after.iter().all(|kid| before.contains(kid)), "{fault:?} {step}: {before:?} {after:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_directory_that_breaks_at_each_step_changes_nothing() {
    let keyed = Keyed::with(Driver::Dir, long_lived).await;
    let first = keyed.until_states(&["active"]).await.remove(0);
    keyed.survives_all("before a rotation").await;

    let token = keyed.token(1, "robin").await;
    let made = super::text(&keyed.rotate(1).await["kid"]);
    keyed.until_everywhere("published", 1.0).await;
    let aside = break_directory(&keyed.dir(), Fault::HalfManifest);
    // It was published, and begins to sign while nobody can read it.
    tokio::time::sleep(SHORT_TTL * 2).await;
    keyed.accepted_everywhere(&token).await;
    let later = keyed.token(2, "robin").await;
    assert_eq!(kid_of(&later), made, "it was read before");
    keyed.accepted_everywhere(&later).await;
    mend_directory(&keyed.dir(), &aside);

    assert_eq!(keyed.until_states(&["retired", "active"]).await, [first, made]);
    keyed.survives_all("after a rotation").await;
    keyed.accepted_everywhere(&token).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_table_that_breaks_at_each_step_changes_nothing() {
    let keyed = Keyed::with(Driver::Postgres, long_lived).await;
    keyed.until_states(&["active"]).await;
    for step in ["before a rotation", "after a rotation"] {
        for (broken, mended, is_unreadable) in [
            ("ALTER TABLE signing_keys RENAME TO aside", "ALTER TABLE aside RENAME TO signing_keys", true),
            (
                "UPDATE signing_keys SET sealed = sealed || '\\x00'",
                "UPDATE signing_keys SET sealed = substring(sealed FOR length(sealed) - 1)",
                false,
            ),
            ("UPDATE signing_keys SET withdrawn = true", "UPDATE signing_keys SET withdrawn = false", true),
        ] {
            keyed.world.sql(broken).await;
            keyed.goes_on(&format!("{broken} {step}"), is_unreadable).await;
            keyed.world.sql(mended).await;
            let token = keyed.token(1, "robin").await;
            let read = async {
                while keyed.status(1, &forged(&token)).await != 401 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            tokio::time::timeout(A_LIFE, read).await.expect("it is read again");
        }
        if step == "before a rotation" {
            keyed.rotate(2).await;
            keyed.until_states(&["retired", "active"]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_node_without_keys_starts_says_why_and_becomes_ready() {
    let mut keyed = Keyed::start(Driver::Dir).await;
    let dir = keyed.dir();
    for node in ["api-2", "gateway-1"] {
        keyed.world.cluster.kill(node).await;
        let aside = break_directory(&dir, Fault::HalfManifest);
        keyed.world.cluster.launch(node).await;
        let reason = keyed.world.cluster.until_not_ready(node).await;
        assert!(reason.contains("signing_keys") && reason.contains("is broken"), "{node}: {reason}");
        assert!(reason.contains("put it back from a backup"), "{reason}");
        if node == "api-2" {
            // Nothing is used up for a token that can't be made.
            let body = json!({ "handle": "robin", "password": crate::world::PASSWORD });
            let asked = keyed.http.post(keyed.url(2, "/v1/auth/login")).json(&body).send().await;
            assert_eq!(asked.expect("an answer").status(), 503);
            let body = json!({ "refresh_token": keyed.admin });
            for _ in 0..2 {
                let asked = keyed.http.post(keyed.url(2, "/v1/auth/refresh")).json(&body).send().await;
                assert_eq!(asked.expect("an answer").status(), 503);
            }
            let asked = keyed.http.post(keyed.url(1, "/v1/auth/refresh")).json(&body).send().await;
            assert_eq!(asked.expect("an answer").status(), 200, "it was not used up");
        }
        mend_directory(&dir, &aside);
        keyed.world.cluster.until_ready(node).await;
    }
    let token = keyed.token(2, "robin").await;
    keyed.accepted_everywhere(&token).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_who_has_another_seal_key_is_not_ready_and_destroys_nothing() {
    let mut keyed = Keyed::start(Driver::Postgres).await;
    let before = keyed.states(1).await;
    let mut command = keyed.command("keys rotate");
    command.env("SWITCHBOARD__SECRETS__SEAL_KEY", "YW5vdGhlciBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyE=");
    run(command).await.refused(1, &["does not open with this node's secrets.seal_key"]);
    let mut command = keyed.command("keys rotate");
    command.env_remove("SWITCHBOARD__SECRETS__SEAL_KEY");
    run(command).await.refused(1, &["secrets.seal_key", "openssl rand -base64 32"]);
    assert_eq!(keyed.states(2).await, before);
    // What was sealed with another key is what can't be told from what is damaged.
    keyed.world.cluster.kill("gateway-2").await;
    keyed.world.sql("UPDATE signing_keys SET sealed = sealed || '\\x00'").await;
    keyed.world.cluster.launch("gateway-2").await;
    let reason = keyed.world.cluster.until_not_ready("gateway-2").await;
    assert!(reason.contains("signing_keys") && reason.contains("secrets.seal_key"), "{reason}");
    keyed.world.sql("UPDATE signing_keys SET sealed = substring(sealed FOR length(sealed) - 1)").await;
    keyed.world.cluster.until_ready("gateway-2").await;
    let token = keyed.token(2, "robin").await;
    keyed.accepted_everywhere(&token).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_a_database_that_restarts_during_rotations_loses_no_key() {
    let mut server = OwnServer::durable().await;
    let url = server.database("keys").await.expect("a database");
    let world =
        World::at(url, |options| Driver::Postgres.set(options).setting("auth.access_ttl", "1m")).await;
    let keyed = Keyed::of(world, Driver::Postgres).await;
    for _ in 0..3 {
        let rotating = async {
            // Until one is told that it has rotated, or that another one did.
            loop {
                let ran = run(keyed.command("keys rotate")).await;
                if ran.code == 0 || ran.err.contains("a rotation is under way") {
                    break;
                }
            }
        };
        let restarting = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            server.crash().await.expect("crashed");
            server.start_again().await.expect("back");
        };
        tokio::join!(rotating, restarting);
        keyed.until_everywhere("published", 0.0).await;
        let settled = async {
            loop {
                let token = keyed.token(1, "robin").await;
                if keyed.status(2, &token).await == 200 {
                    break token;
                }
            }
        };
        let token = tokio::time::timeout(A_LIFE, settled).await.expect("it is back");
        keyed.accepted_everywhere(&token).await;
    }
    let there = keyed.states(1).await;
    assert_eq!(there.iter().filter(|(_, state)| state == "active").count(), 1, "{there:?}");
}
