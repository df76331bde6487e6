use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn files_in(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn the_first_start_makes_a_key_that_stays() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("push");
    assert!(VapidKey::load(&dir).await.is_err(), "looking makes nothing");
    assert!(!dir.exists());
    let first = VapidKey::open(&dir).await.unwrap();
    assert_eq!(VapidKey::open(&dir).await.unwrap().public(), first.public());
    assert_eq!(VapidKey::load(&dir).await.unwrap().public(), first.public());
    assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));
    assert_eq!(files_in(&dir), [FILE]);
    let point = URL_SAFE_NO_PAD.decode(first.public()).unwrap();
    assert_eq!((point.len(), point[0]), (65, 4));
    assert!(format!("{first:?}").len() < 130, "the public half alone is shown");
}

#[test]
fn all_who_start_at_once_end_up_with_the_same_key() {
    for _ in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/push");
        let start = Barrier::new(6);
        let open = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            start.wait();
            runtime.block_on(VapidKey::open(&dir)).unwrap().public().to_owned()
        };
        let keys: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_eq!(files_in(&dir), [FILE]);
    }
}

#[tokio::test]
async fn the_group_may_read_but_never_everybody() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("push");
    VapidKey::open(&dir).await.unwrap();
    let file = dir.join(FILE);
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o750)).unwrap();
    VapidKey::open(&dir).await.expect("a group is fine");
    for (path, open, shut) in [(&file, 0o644, "chmod 0600"), (&dir, 0o755, "chmod 0700")] {
        let before = mode(path);
        fs::set_permissions(path, Permissions::from_mode(open)).unwrap();
        let refused = VapidKey::open(&dir).await.unwrap_err().to_string();
        assert!(refused.contains(shut) && refused.contains(&path.display().to_string()), "{refused}");
        assert_eq!(VapidKey::load(&dir).await.unwrap_err().to_string(), refused);
        fs::set_permissions(path, Permissions::from_mode(before)).unwrap();
    }
}

#[tokio::test]
async fn a_file_that_is_no_key_stops_the_start_and_is_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("push");
    VapidKey::open(&dir).await.unwrap();
    let file = dir.join(FILE);
    let good = fs::read_to_string(&file).unwrap();
    let ed25519 = aws_lc_rs::signature::Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
    let ed25519 = pem::encode(&pem::Pem::new(PEM_TAG, ed25519.as_ref()));
    for (text, says) in [
        ("", "no PEM file"),
        (&good[..good.len() / 2], "no PEM file"),
        (&good.replace("PRIVATE KEY", "PUBLIC KEY"), "no PEM file"),
        (&ed25519, "no P-256 key"),
        (&"x".repeat(300_000), "no key file"),
    ] {
        fs::write(&file, text).unwrap();
        let error = VapidKey::open(&dir).await.expect_err(says).to_string();
        assert!(error.contains(says) && error.contains(&file.display().to_string()), "{error}");
        assert!(!good.lines().any(|line| error.contains(line)), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), *text);
    }
}

#[tokio::test]
async fn a_directory_that_can_not_be_made_is_told() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let error = VapidKey::open(&file.join("push")).await.unwrap_err().to_string();
    assert!(error.contains("could not make") && error.contains("file/push"), "{error}");
}
