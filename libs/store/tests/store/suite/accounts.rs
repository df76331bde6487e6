//! People and their credentials.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{EventKind, Sender, StreamRef, UserId};
use futures_util::future::join_all;
use store::{Refusal, StoreError};

use super::Subject;
use super::people::{HOUR, new_session, new_user, person, signed_in};

pub(crate) async fn a_person_is_created_once(store: Subject) {
    let alex = new_user("alex");
    let created = store.create_user(&alex).await.expect("created");
    assert_eq!((created.id, created.handle.as_str()), (alex.id, "alex"));
    assert_eq!((created.display_name.as_str(), created.role), ("ALEX", alex.role));
    // The answer was lost, the call is repeated.
    assert_eq!(store.create_user(&alex).await.expect("created before"), created);
    assert_eq!(store.user(alex.id).await.expect("an answer"), Some(created));
    assert_eq!(store.user(UserId::new()).await.expect("an answer"), None);
}

pub(crate) async fn a_taken_handle_is_refused(store: Subject) {
    person(&*store, "alex").await;
    let again = store.create_user(&new_user("alex")).await;
    assert!(matches!(again, Err(StoreError::Refused(Refusal::HandleTaken))), "{again:?}");
}

pub(crate) async fn one_of_many_gets_the_handle(store: Subject) {
    let tries = join_all((0..12).map(|_| {
        let store = store.shared();
        tokio::spawn(async move { store.create_user(&new_user("sam")).await })
    }))
    .await;
    let (won, lost): (Vec<_>, Vec<_>) =
        tries.into_iter().map(|tried| tried.expect("no panic")).partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for refused in lost {
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::HandleTaken))), "{refused:?}");
    }
}

pub(crate) async fn credentials_are_found_by_handle(store: Subject) {
    let alex = person(&*store, "alex").await;
    let found = store.credentials("alex").await.expect("an answer").expect("credentials");
    assert_eq!(found.user, alex);
    assert_eq!(found.password_hash, "$argon2id$of-alex");
    assert!(!found.disabled && found.locked_until.is_none());
    assert!(store.credentials("ale").await.expect("an answer").is_none());
    assert!(store.credentials("alex%").await.expect("an answer").is_none());

    store.set_user_disabled(alex.id, true).await.expect("disabled");
    assert!(store.credentials("alex").await.expect("an answer").expect("credentials").disabled);
}

pub(crate) async fn failures_lock_at_the_threshold(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let fail = || store.record_login_failure(alex, 3, HOUR);
    assert_eq!(fail().await.expect("counted"), None);
    assert_eq!(fail().await.expect("counted"), None);
    let locked = fail().await.expect("counted").expect("locked by the third");
    let shown = store.credentials("alex").await.expect("an answer").expect("credentials");
    assert_eq!(shown.locked_until, Some(locked));
    let away = locked.duration_since(jiff::Timestamp::now()).unsigned_abs();
    assert!(away > HOUR / 2 && away < HOUR * 2, "{away:?}");

    // A lock that is over is none, and counting begins anew.
    let sam = person(&*store, "sam").await.id;
    assert_eq!(store.record_login_failure(sam, 1, Duration::ZERO).await.expect("counted"), None);
    assert!(store.credentials("sam").await.expect("an answer").expect("credentials").locked_until.is_none());
    assert_eq!(store.record_login_failure(sam, 2, HOUR).await.expect("counted"), None);
    assert!(store.record_login_failure(sam, 2, HOUR).await.expect("counted").is_some());

    let nobody = store.record_login_failure(UserId::new(), 1, HOUR).await;
    assert_eq!(nobody.expect("nobody to lock"), None);
}

pub(crate) async fn failures_at_once_are_all_counted(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let counted = join_all((0..20).map(|_| {
        let store = store.shared();
        tokio::spawn(async move { store.record_login_failure(alex, 20, HOUR).await.expect("counted") })
    }))
    .await;
    let locked = counted.into_iter().filter(|answer| answer.as_ref().expect("no panic").is_some());
    assert_eq!(locked.count(), 1, "the twentieth, and only that one, locks");
}

pub(crate) async fn a_success_forgets_the_failures(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    for _ in 0..2 {
        assert_eq!(store.record_login_failure(alex, 3, HOUR).await.expect("counted"), None);
    }
    store.record_login_success(alex).await.expect("forgotten");
    for _ in 0..2 {
        assert_eq!(store.record_login_failure(alex, 3, HOUR).await.expect("counted"), None);
    }
    // A lock that was set while the right password was on its way stands.
    let locked = store.record_login_failure(alex, 3, HOUR).await.expect("counted");
    store.record_login_success(alex).await.expect("forgotten");
    let shown = store.credentials("alex").await.expect("an answer").expect("credentials");
    assert_eq!((shown.locked_until, locked.is_some()), (locked, true));
}

pub(crate) async fn a_password_hash_is_replaced_while_it_is_the_old_one(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await, person(&*store, "sam").await);
    let hash = async |handle: &str| {
        store.credentials(handle).await.expect("an answer").expect("credentials").password_hash
    };
    let old = hash("alex").await;
    assert!(store.set_password_hash(alex.id, &old, "$fresh").await.expect("an answer"));
    assert_eq!((hash("alex").await.as_str(), hash("sam").await.as_str()), ("$fresh", "$argon2id$of-sam"));
    // One who read the hash before comes too late, as does a repeat of the call.
    assert!(!store.set_password_hash(alex.id, &old, "$late").await.expect("an answer"));
    assert_eq!(hash("alex").await, "$fresh");
    assert!(!store.set_password_hash(UserId::new(), &old, "$nobody's").await.expect("an answer"));

    let old = hash("sam").await;
    let tries = join_all((0..8).map(|number| {
        let (store, old) = (store.shared(), old.clone());
        tokio::spawn(async move { store.set_password_hash(sam.id, &old, &format!("$of-{number}")).await })
    }));
    let done: Vec<bool> =
        tries.await.into_iter().map(|tried| tried.expect("no panic").expect("an answer")).collect();
    assert_eq!(done.iter().filter(|done| **done).count(), 1, "{done:?}");
    let winner = done.iter().position(|done| *done).expect("one");
    assert_eq!(hash("sam").await, format!("$of-{winner}"));
}

pub(crate) async fn search_takes_every_character_as_it_is(store: Subject) {
    for handle in ["robin", "rob_n", "robert"] {
        person(&*store, handle).await;
    }
    let mut odd = new_user("odd");
    odd.display_name = r"100% \ Robin".into();
    store.create_user(&odd).await.expect("created");
    let gone = person(&*store, "robgone").await;
    store.set_user_disabled(gone.id, true).await.expect("disabled");

    for (query, expected) in [
        ("rob", &["rob_n", "robert", "robin"][..]),
        ("ROBI", &["robin"]),
        ("rob_", &["rob_n"]),
        ("rob%", &[]),
        ("r%", &[]),
        ("100%", &["odd"]),
        (r"100% \", &["odd"]),
        ("obin", &[]),
        (r"\", &[]),
        ("", &["odd", "rob_n", "robert", "robin"]),
    ] {
        let found = store.users(query, None, 10).await.expect("an answer");
        let mut handles: Vec<_> = found.iter().map(|user| user.handle.as_str()).collect();
        handles.sort_unstable();
        assert_eq!(handles, expected, "{query:?}");
    }
}

pub(crate) async fn search_is_paged_by_id(store: Subject) {
    let mut everybody = Vec::new();
    for number in 0..7 {
        everybody.push(person(&*store, &format!("user{number}")).await.id);
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store.users("user", after, 3).await.expect("an answer");
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page.iter().map(|user| user.id));
    }
    assert_eq!(seen, everybody);
}

pub(crate) async fn disabling_ends_every_sign_in(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let sam = person(&*store, "sam").await.id;
    let (first, second) = (signed_in(&*store, alex).await, signed_in(&*store, alex).await);
    let other = signed_in(&*store, sam).await;

    let ended = store.set_user_disabled(alex, true).await.expect("disabled");
    let sessions: BTreeSet<_> = ended.iter().map(|ended| ended.session).collect();
    assert_eq!(sessions, BTreeSet::from([first.id, second.id]));
    let mut seqs = Vec::new();
    for ended in &ended {
        let event = ended.event.as_ref().expect("an event");
        assert_eq!(event.stream, StreamRef::from(alex));
        assert_eq!((&event.kind, event.sender), (&EventKind::SessionRevoked, Sender::System));
        assert_eq!(&*event.data, format!(r#"{{"session_id":"{}"}}"#, ended.session));
        seqs.push(event.seq);
    }
    assert_eq!(seqs, [1, 2]);
    let asked = [first.id, second.id, other.id];
    let gone: BTreeSet<_> = store.not_live(&asked).await.expect("an answer").into_iter().collect();
    assert_eq!(gone, sessions);

    let again = store.set_user_disabled(alex, true).await.expect("disabled before");
    assert!(again.is_empty());
    let refused = store.open_session(&new_session(alex)).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Forbidden))), "{refused:?}");

    assert!(store.set_user_disabled(alex, false).await.expect("enabled").is_empty());
    signed_in(&*store, alex).await;
    assert_eq!(store.not_live(&[first.id]).await.expect("an answer"), [first.id], "ended stays ended");
}

pub(crate) async fn disabling_meets_sign_ins_being_opened(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    for _ in 0..10 {
        let opening = join_all((0..4).map(|_| {
            let (store, session) = (store.shared(), new_session(alex));
            tokio::spawn(async move { store.open_session(&session).await.map(|_| session.id) })
        }));
        let disabling = {
            let store = store.shared();
            tokio::spawn(async move { store.set_user_disabled(alex, true).await })
        };
        let opened = opening.await;
        let ended = disabling.await.expect("no panic").expect("disabled");
        let ended: BTreeSet<_> = ended.iter().map(|ended| ended.session).collect();
        let opened: BTreeSet<_> =
            opened.into_iter().filter_map(|opened| opened.expect("no panic").ok()).collect();
        assert_eq!(opened, ended, "a sign-in that was opened was ended, or else refused");
        store.set_user_disabled(alex, false).await.expect("enabled");
    }
}

pub(crate) async fn nobody_is_disabled(store: Subject) {
    for disabled in [true, false] {
        let refused = store.set_user_disabled(UserId::new(), disabled).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::NotFound("user")))), "{refused:?}");
    }
}
