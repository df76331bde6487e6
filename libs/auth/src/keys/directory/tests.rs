use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use super::*;
use crate::keys::KeySet;
use crate::keys::manifest::KeyRules;

const RULES: KeyRules = KeyRules { cache_ttl: Duration::from_secs(60), token_life: Duration::from_secs(900) };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn names(dir: &Path) -> Vec<String> {
    let mut names = files::names(dir).expect("readable");
    names.sort_unstable();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

/// A directory below one that is removed in the end, with its first key.
fn with_first() -> (tempfile::TempDir, PathBuf, Manifest) {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("a/keys");
    let (new, first) = first();
    assert!(replace(&dir, 0, &first, Some(&new)).expect("written"));
    (parent, dir, first)
}

fn first() -> (NewKey, Manifest) {
    let new = NewKey::make().expect("made");
    let manifest = Manifest::first(new.kid.clone(), "api-1".into(), at(0), &RULES);
    (new, manifest)
}

fn rotated(manifest: &Manifest, second: i64) -> (NewKey, Manifest) {
    let new = NewKey::make().expect("made");
    let next = manifest.rotate(new.kid.clone(), "api-1".into(), at(second), &RULES).expect("allowed");
    (new, next)
}

fn loaded(dir: &Path) -> Stored {
    load(dir).expect("readable").expect("keys")
}

/// Ten rotations with their sweeps, each in its own time.
fn ten_more(dir: &Path, mut manifest: Manifest) -> Manifest {
    for turn in 1..=10 {
        let (new, next) = rotated(&manifest, turn * 10_000);
        assert!(replace(dir, manifest.revision(), &next, Some(&new)).expect("written"));
        manifest = next;
        for later in [1000, 9000] {
            let next = manifest.sweep(at(turn * 10_000 + later), &RULES).expect("something to do");
            assert!(replace(dir, manifest.revision(), &next, None).expect("written"));
            manifest = next;
        }
    }
    manifest
}

#[test]
fn looking_at_the_keys_makes_none() {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("keys");
    assert!(load(&dir).expect("nothing is in the way").is_none());
    assert!(!dir.exists());
}

#[test]
fn files_are_whole_closed_and_never_changed() {
    let (_parent, dir, manifest) = with_first();
    let kid = manifest.keys()[0].kid.clone();
    assert_eq!(names(&dir), [format!("{kid}.pem"), "manifest-0000000001.json".into()]);
    assert_eq!(mode(&dir), 0o700);
    assert!(names(&dir).iter().all(|name| mode(&dir.join(name)) == 0o600));
    let stored = loaded(&dir);
    assert_eq!(stored.manifest, manifest);
    assert!(stored.parts[&kid].is_ok());
}

#[test]
fn of_all_who_start_at_once_one_makes_the_key() {
    for _ in 0..20 {
        let parent = tempfile::tempdir().expect("dir");
        let dir = parent.path().join("a/b/keys");
        let start = Barrier::new(6);
        let make = || {
            let (new, manifest) = first();
            start.wait();
            replace(&dir, 0, &manifest, Some(&new)).expect("written")
        };
        let won: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().expect("joined")).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        let kid = loaded(&dir).manifest.keys()[0].kid.clone();
        assert_eq!(names(&dir), [format!("{kid}.pem"), "manifest-0000000001.json".into()]);
    }
}

#[test]
fn of_two_who_saw_the_same_one_replaces_it() {
    let (_parent, dir, first) = with_first();
    let ((one, by_one), (two, by_two)) = (rotated(&first, 100), rotated(&first, 100));
    assert!(replace(&dir, 1, &by_one, Some(&one)).expect("written"));
    assert!(!replace(&dir, 1, &by_two, Some(&two)).expect("an answer"));
    assert_eq!(loaded(&dir).manifest, by_one);
    assert!(!key_path(&dir, &two.kid).exists(), "who lost leaves nothing");
}

#[test]
fn who_wakes_when_its_number_has_come_and_gone_changes_nothing() {
    let (_parent, dir, first) = with_first();
    let (late, by_late) = rotated(&first, 100);
    let swept = by_late.sweep(at(1000), &RULES).expect("something to do");
    let present = ten_more(&dir, first);
    let before = names(&dir);
    // Stopped before it looked, and after: with its file in place, and about to link its manifest.
    assert!(!replace(&dir, 1, &by_late, Some(&late)).expect("an answer"));
    assert_eq!(names(&dir), before);
    assert!(place_manifest(&dir, &swept).expect("its number is free again"));
    assert_eq!(loaded(&dir).manifest, present, "and nobody reads it");
    let (new, next) = rotated(&present, 200_000);
    assert!(replace(&dir, present.revision(), &next, Some(&new)).expect("written"));
    assert!(loaded(&dir).parts.values().all(Result::is_ok), "no file of a key is gone");
}

#[test]
fn a_rotator_that_is_late_gives_its_key_up() {
    let (_parent, dir, first) = with_first();
    let (late, by_late) = rotated(&first, 100);
    // Its first look is behind it; the others were faster since.
    let pem = pem::encode(&pem::Pem::new(PEM_TAG, late.private.der()));
    files::place(&dir, &key_path(&dir, &late.kid), pem.as_bytes()).expect("written");
    ten_more(&dir, first);
    assert!(loaded(&dir).manifest.key(&late.kid).is_none());
    assert!(key_path(&dir, &late.kid).exists(), "nobody removes what may still be named");
    assert!(!replace(&dir, 1, &by_late, Some(&late)).expect("an answer"));
}

#[test]
fn files_of_deleted_keys_go_and_a_few_manifests_stay() {
    let (_parent, dir, first) = with_first();
    let present = ten_more(&dir, first);
    assert_eq!((present.revision(), present.keys().len()), (31, 1));
    let names = names(&dir);
    let keys: Vec<_> = names.iter().filter(|name| name.ends_with(".pem")).collect();
    assert_eq!(keys, [&format!("{}.pem", present.keys()[0].kid)]);
    assert_eq!(numbers(&dir).expect("readable"), (23..=31).collect::<Vec<u64>>());
}

#[test]
fn what_writers_left_behind_goes_after_a_while() {
    let (_parent, dir, first) = with_first();
    let (old, new) = (dir.join(".old.tmp"), dir.join(".new.tmp"));
    for path in [&old, &new] {
        fs::write(path, "half").expect("written");
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(2);
    fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(long_ago)).expect("set");
    ten_more(&dir, first);
    assert!(!old.exists() && new.exists());
}

#[test]
fn a_group_may_read_but_never_everybody() {
    let (_parent, dir, manifest) = with_first();
    let key = key_path(&dir, &manifest.keys()[0].kid);
    chmod(&key, 0o640);
    chmod(&dir, 0o750);
    assert!(loaded(&dir).parts.values().all(Result::is_ok));
    chmod(&dir, 0o755);
    let refused = load(&dir).expect_err("open to all").to_string();
    assert!(refused.contains("chmod 0700") && refused.contains(&dir.display().to_string()), "{refused}");
    chmod(&dir, 0o700);
    chmod(&key, 0o644);
    let refused = loaded(&dir)
        .parts
        .remove(&manifest.keys()[0].kid)
        .expect("named")
        .expect_err("open to all")
        .to_string();
    for part in ["chmod 0600", "defaultMode: 0440", &key.display().to_string()] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn what_is_half_written_is_told_and_read_as_nothing_else() {
    let (_parent, dir, first) = with_first();
    let (new, next) = rotated(&first, 100);
    replace(&dir, 1, &next, Some(&new)).expect("written");
    let path = manifest_path(&dir, 2);
    let whole = fs::read(&path).expect("readable");
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).expect("written");
        let error = load(&dir).expect_err("half").to_string();
        assert!(error.contains("manifest-0000000002.json is broken"), "{error}");
        // Nobody builds on what is not there, and nothing older counts in its place.
        replace(&dir, 1, &next, None).expect_err("half");
        replace(&dir, 2, &next, None).expect_err("half");
    }
    for (text, part) in [
        (r#"{"version": 3, "revision": 2, "keys": []}"#, "has version 3"),
        (r#"{"version": 2, "revision": 2, "keys": []}"#, "no key that may sign"),
        (r#"{"version": 2, "revision": 7, "keys": []}"#, "another number"),
        (r#"{"revision": 2, "keys": []}"#, "no version"),
    ] {
        fs::write(&path, text).expect("written");
        let error = load(&dir).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    fs::write(&path, &whole).expect("written");
    let key = key_path(&dir, &new.kid);
    let pem = fs::read(&key).expect("readable");
    for length in [0, 1, pem.len() / 2, pem.len() - 5] {
        fs::write(&key, &pem[..length]).expect("written");
        let stored = loaded(&dir);
        assert!(stored.parts[&new.kid].is_err() && stored.parts[&first.keys()[0].kid].is_ok());
    }
}

#[test]
fn the_first_form_is_read_and_taken_over() {
    let (_parent, dir, made) = with_first();
    let kid = made.keys()[0].kid.clone();
    fs::remove_file(manifest_path(&dir, 1)).expect("removed");
    let other = NewKey::make().expect("made");
    let pem = pem::encode(&pem::Pem::new(PEM_TAG, other.private.der()));
    files::place(&dir, &key_path(&dir, &other.kid), pem.as_bytes()).expect("written");
    let text = serde_json::json!({ "version": 1, "active": kid, "keys": [
        { "kid": kid, "created_at": at(0) }, { "kid": other.kid, "created_at": at(50) },
    ] });
    files::place(&dir, &dir.join(FIRST_FORM), text.to_string().as_bytes()).expect("written");

    let stored = loaded(&dir);
    assert!(stored.parts.values().all(Result::is_ok));
    let manifest = stored.manifest;
    assert_eq!(manifest.revision(), 0);
    assert_eq!(
        manifest.signer(at(100), |_| true).expect("one").kid,
        kid,
        "the active one, though another is newer"
    );
    let (new, next) = rotated(&manifest, 100);
    assert!(replace(&dir, 0, &next, Some(&new)).expect("written"));
    assert_eq!(loaded(&dir).manifest.revision(), 1);
    assert!(!dir.join(FIRST_FORM).exists());
    assert!(key_path(&dir, &other.kid).exists(), "its tokens may be good for a while");
}

#[test]
fn a_key_id_is_never_a_path() {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("keys");
    files::make_dir(&dir).expect("made");
    let text = r#"{"version": 1, "active": "../x", "keys": [{"kid": "../x", "created_at": "2026-01-01T00:00:00Z"}]}"#;
    files::place(&dir, &dir.join(FIRST_FORM), text.as_bytes()).expect("written");
    let error = load(&dir).expect_err("refused").to_string();
    assert!(error.contains("is no key id"), "{error}");
}

#[test]
fn a_link_to_a_closed_file_is_read() {
    // A Secret of Kubernetes: each file is a link to one in a directory that is exchanged as a whole.
    let (_parent, dir, manifest) = with_first();
    let data = dir.join("..data");
    fs::create_dir(&data).expect("made");
    for name in names(&dir).iter().filter(|name| !name.starts_with('.')) {
        fs::rename(dir.join(name), data.join(name)).expect("moved");
        std::os::unix::fs::symlink(format!("..data/{name}"), dir.join(name)).expect("linked");
        chmod(&data.join(name), 0o440);
    }
    let stored = loaded(&dir);
    assert_eq!(stored.manifest, manifest);
    assert!(stored.parts.values().all(Result::is_ok));
}

#[test]
fn a_key_of_openssl_signs() {
    // As the guide has an operator fill a Secret: `openssl genpkey -algorithm ed25519`.
    let body = "MC4CAQAwBQYDK2VwBCIEIG17Ple/Gb63XFGaj2Dz/JF6ZRsnMN1YNxotVNjwczrj";
    let text = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("keys");
    files::make_dir(&dir).expect("made");
    files::place(&dir, &key_path(&dir, "key-1"), text.as_bytes()).expect("written");
    let manifest = r#"{"version": 1, "active": "key-1", "keys": [{"kid": "key-1", "created_at": "2026-11-30T12:00:00Z"}]}"#;
    files::place(&dir, &dir.join(FIRST_FORM), manifest.as_bytes()).expect("written");
    let set = KeySet::of(&loaded(&dir), None, Duration::ZERO, at(0)).expect("a set");
    assert_eq!(set.signer(at(0)).expect("one").id, "key-1");
}
