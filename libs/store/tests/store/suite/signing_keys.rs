//! Signing keys.

use std::time::Duration;

use domain::SigningKey;
use futures_util::future::join_all;
use jiff::Timestamp;
use store::signing_keys::NewSealedKey;

use super::people::HOUR;
use super::{AnyStore, Subject};

fn key(kid: &str, second: i64) -> SigningKey {
    let at = Timestamp::from_second(1_800_000_000 + second).expect("a time");
    SigningKey {
        kid: kid.into(),
        created_at: at,
        signs_from: at + Duration::from_micros(60_000_001),
        withdrawn: false,
        retired_at: None,
        token_life: Duration::from_micros(905_000_001),
        made_by: "api-1".into(),
    }
}

async fn add(store: &dyn AnyStore, seen: u64, keys: &[SigningKey], kid: &str) -> bool {
    let new = NewSealedKey { kid, sealed: kid.as_bytes() };
    store.replace_signing_keys(seen, keys, Some(new)).await.expect("an answer")
}

pub(crate) async fn keys_are_kept_as_they_were_put(store: Subject) {
    assert_eq!(store.signing_keys().await.expect("read"), (0, vec![]));
    let (one, two) = (key("one", 0), key("two", 100));
    assert!(add(&*store, 0, std::slice::from_ref(&one), "one").await);
    let retired = SigningKey {
        signs_from: one.created_at,
        withdrawn: true,
        retired_at: Some(two.signs_from),
        token_life: HOUR,
        ..one
    };
    assert!(add(&*store, 1, &[two.clone(), retired.clone()], "two").await);
    let (revision, kept) = store.signing_keys().await.expect("read");
    assert_eq!(revision, 2);
    let kept: Vec<_> = kept.into_iter().map(|kept| (kept.key, kept.sealed)).collect();
    assert_eq!(kept, [(retired, b"one".to_vec()), (two.clone(), b"two".to_vec())], "by when they sign");
    assert!(store.replace_signing_keys(2, std::slice::from_ref(&two), None).await.expect("an answer"));
    let (revision, kept) = store.signing_keys().await.expect("read");
    assert_eq!((revision, kept.len(), &kept[0].key), (3, 1, &two));
    assert_eq!(kept[0].sealed, b"two");
}

pub(crate) async fn another_revision_is_not_replaced(store: Subject) {
    assert!(add(&*store, 0, &[key("one", 0)], "one").await);
    for seen in [0, 2, 1000] {
        assert!(!add(&*store, seen, &[key("two", 0)], "two").await);
        assert!(!store.replace_signing_keys(seen, &[], None).await.expect("an answer"));
    }
    let (revision, kept) = store.signing_keys().await.expect("read");
    assert_eq!((revision, kept.len(), kept[0].key.kid.as_str()), (1, 1, "one"));
}

pub(crate) async fn of_many_who_saw_the_same_one_replaces_it(store: Subject) {
    assert!(add(&*store, 0, &[key("first", 0)], "first").await);
    for revision in 1..=10 {
        let tries = join_all((0..8).map(|n| {
            let store = store.shared();
            tokio::spawn(async move {
                let kid = format!("{revision}-{n}");
                let keys = [key("first", 0), key(&kid, 100)];
                (add(&*store, revision, &keys, &kid).await, kid)
            })
        }))
        .await;
        let tries = tries.into_iter().map(|tried| tried.expect("no panic"));
        let won: Vec<_> = tries.filter(|(won, _)| *won).map(|(_, kid)| kid).collect();
        assert_eq!(won.len(), 1, "{won:?}");
        let (now, kept) = store.signing_keys().await.expect("read");
        let kids: Vec<_> = kept.iter().map(|kept| kept.key.kid.as_str()).collect();
        assert_eq!((now, kids), (revision + 1, vec!["first", won[0].as_str()]));
    }
}

pub(crate) async fn the_database_tells_its_time(store: Subject) {
    let first = store.database_time().await.expect("a time");
    let second = store.database_time().await.expect("a time");
    assert!(second > first);
    assert!(first.duration_since(Timestamp::now()).unsigned_abs() < HOUR);
}
