use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Barrier};

use super::*;

fn settings(dir: &Path) -> SecretSettings {
    SecretSettings { signing_key_dir: dir.join("keys"), ..SecretSettings::default() }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("readable");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("entry").file_name().into_string().expect("text")).collect();
    names.sort_unstable();
    names
}

/// Adds a key to the directory as a rotation would.
fn add_key(dir: &Path, kid: &str) {
    let der = Ed25519KeyPair::generate_pkcs8v1(&aws_lc_rs::rand::SystemRandom::new()).expect("key");
    let path = dir.join(format!("{kid}.pem"));
    fs::write(&path, pem::encode(&pem::Pem::new("PRIVATE KEY", der.as_ref()))).expect("write");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("chmod");
    let path = dir.join("manifest.json");
    let mut manifest: directory::Manifest =
        serde_json::from_slice(&fs::read(&path).expect("read")).expect("json");
    manifest.keys.push(directory::ManifestKey { kid: kid.into(), created_at: jiff::Timestamp::now() });
    fs::write(&path, serde_json::to_vec(&manifest).expect("json")).expect("write");
}

#[tokio::test]
async fn the_first_start_makes_a_key_that_stays() {
    let dir = tempfile::tempdir().expect("dir");
    let settings = settings(dir.path());
    let first = Keys::open(&settings).await.expect("made");
    let again = Keys::open(&settings).await.expect("read");
    let kid = first.current().active().id.clone();
    assert_eq!(again.current().active().id, kid);
    assert_eq!(files(&settings.signing_key_dir), [format!("{kid}.pem"), "manifest.json".into()]);
    assert_eq!(mode(&settings.signing_key_dir), 0o700);
    assert_eq!(mode(&settings.signing_key_dir.join("manifest.json")), 0o600);
    assert_eq!(mode(&settings.signing_key_dir.join(format!("{kid}.pem"))), 0o600);
}

#[test]
fn all_who_start_at_once_end_up_with_the_same_key() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().expect("dir");
        let keys = dir.path().join("a/b/keys");
        let start = Barrier::new(6);
        let open = || {
            start.wait();
            directory::open(&keys).expect("opened").active().id.clone()
        };
        let ids: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|t| t.join().expect("joined")).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert_eq!(files(&keys), [format!("{}.pem", ids[0]), "manifest.json".into()]);
    }
}

#[tokio::test]
async fn the_group_may_read_but_never_everybody() {
    let dir = tempfile::tempdir().expect("dir");
    let settings = settings(dir.path());
    let kid = Keys::open(&settings).await.expect("made").current().active().id.clone();
    let key = settings.signing_key_dir.join(format!("{kid}.pem"));
    fs::set_permissions(&key, Permissions::from_mode(0o640)).expect("chmod");
    fs::set_permissions(&settings.signing_key_dir, Permissions::from_mode(0o750)).expect("chmod");
    Keys::open(&settings).await.expect("a group is fine");
    for (path, open, shut) in [(&key, 0o644, "chmod 0600"), (&settings.signing_key_dir, 0o755, "chmod 0700")]
    {
        let before = mode(path);
        fs::set_permissions(path, Permissions::from_mode(open)).expect("chmod");
        let refused = Keys::open(&settings).await.expect_err("open to all").to_string();
        assert!(refused.contains(shut) && refused.contains(&path.display().to_string()), "{refused}");
        fs::set_permissions(path, Permissions::from_mode(before)).expect("chmod");
    }
}

#[tokio::test]
async fn an_unknown_key_is_looked_for_once_within_the_cool_down() {
    let dir = tempfile::tempdir().expect("dir");
    let settings = settings(dir.path());
    let keys = Keys::open(&settings).await.expect("made");
    add_key(&settings.signing_key_dir, "second");
    assert!(keys.find("second").await.is_some(), "found by reading again");
    add_key(&settings.signing_key_dir, "third");
    assert!(keys.find("third").await.is_none(), "not again so soon");
    tokio::time::pause();
    tokio::time::advance(settings.reload_cooldown).await;
    tokio::time::resume();
    assert!(keys.find("third").await.is_some());
    assert_eq!(keys.current().jwks().keys.len(), 3);
}

#[tokio::test]
async fn those_who_wait_for_a_reload_share_it() {
    let dir = tempfile::tempdir().expect("dir");
    let settings = settings(dir.path());
    let keys = Arc::new(Keys::open(&settings).await.expect("made"));
    add_key(&settings.signing_key_dir, "second");
    let held = keys.reloaded.lock().await;
    let mut finders = Vec::new();
    for _ in 0..8 {
        let keys = Arc::clone(&keys);
        finders.push(tokio::spawn(async move { keys.find("second").await.is_some() }));
    }
    tokio::task::yield_now().await;
    drop(held);
    for finder in finders {
        assert!(finder.await.expect("joined"));
    }
}

#[tokio::test]
async fn a_broken_directory_keeps_the_last_good_keys() {
    let dir = tempfile::tempdir().expect("dir");
    let settings = settings(dir.path());
    let keys = Keys::open(&settings).await.expect("made");
    let kid = keys.current().active().id.clone();
    fs::write(settings.signing_key_dir.join("manifest.json"), "{").expect("write");
    let error = keys.reload().await.expect_err("broken").to_string();
    assert!(error.contains("manifest.json is broken"), "{error}");
    assert!(keys.find("other").await.is_none() && keys.find(&kid).await.is_some());
    assert!(Keys::open(&settings).await.is_err(), "but nobody starts with it");
}

#[tokio::test]
async fn a_key_id_is_never_a_path() {
    let dir = tempfile::tempdir().expect("dir");
    let settings = settings(dir.path());
    Keys::open(&settings).await.expect("made");
    let path = settings.signing_key_dir.join("manifest.json");
    fs::write(&path, r#"{"version": 1, "active": "../../etc/key", "keys": []}"#).expect("write");
    let error = Keys::open(&settings).await.expect_err("refused").to_string();
    assert!(error.contains("is no key id"), "{error}");
}

#[tokio::test]
async fn the_published_keys_are_public_halves() {
    let dir = tempfile::tempdir().expect("dir");
    let keys = Keys::open(&settings(dir.path())).await.expect("made");
    let json = serde_json::to_value(keys.current().jwks()).expect("json");
    let key = json["keys"][0].as_object().expect("object");
    let names: Vec<_> = key.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(key["kty"] == "OKP" && key["crv"] == "Ed25519" && key["alg"] == "EdDSA" && key["use"] == "sig");
    assert_eq!(key["x"].as_str().expect("text").len(), 43);
    assert!(!key.contains_key("d"));
}

#[test]
fn looking_at_the_keys_makes_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let keys = dir.path().join("keys");
    assert!(directory::manifest(&keys).expect("nothing is in the way").is_none());
    assert!(!keys.exists());
    let set = directory::open(&keys).expect("opened");
    let manifest = directory::manifest(&keys).expect("readable").expect("made");
    assert_eq!(manifest.active, set.active().id);
    assert_eq!(manifest.keys.len(), 1);
}
