//! Sign-ins and their refresh tokens.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{AuthSessionId, EventKind, Sender, StreamRef, UserId};
use futures_util::future::join_all;
use store::sessions::{EndedSession, NewSession, Rotation};
use store::{Refusal, StoreError};

use super::people::{HOUR, new_device, new_session, person, secret, signed_in};
use super::{AnyStore, Subject};

async fn rotate(store: &dyn AnyStore, old: [u8; 32], new: [u8; 32]) -> Rotation {
    store.rotate_refresh(&old, &new, HOUR).await.expect("an answer")
}

fn ended_by_reuse(rotation: Rotation) -> EndedSession {
    match rotation {
        Rotation::Reused(ended) => ended,
        other => panic!("reuse went unnoticed: {other:?}"),
    }
}

pub(crate) async fn a_sign_in_brings_its_device(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let device = new_device("laptop");
    let session = NewSession { device: Some(device.clone()), ..new_session(alex) };
    let opened = store.open_session(&session).await.expect("opened").expect("a device");
    assert_eq!((opened.id, opened.kind, opened.name.as_str()), (device.id, device.kind, "laptop"));
    assert_eq!(store.devices(alex, None, 10).await.expect("a list"), std::slice::from_ref(&opened));
    // Repeated after a lost answer.
    assert_eq!(store.open_session(&session).await.expect("opened before"), Some(opened.clone()));

    let Rotation::Rotated { device, user, session: id } = rotate(&*store, session.refresh, secret()).await
    else {
        panic!("the first token is good");
    };
    assert_eq!((device, user, id), (Some(opened.id), alex, session.id));

    let bare = new_session(alex);
    assert_eq!(store.open_session(&bare).await.expect("opened"), None);
    assert_eq!(store.open_session(&bare).await.expect("opened before"), None);

    let nobody = store.open_session(&new_session(UserId::new())).await;
    assert!(matches!(nobody, Err(StoreError::Refused(Refusal::Forbidden))), "{nobody:?}");
}

pub(crate) async fn a_locked_account_opens_no_sign_in(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await.id, person(&*store, "sam").await.id);
    assert!(store.record_login_failure(alex, 1, HOUR).await.expect("counted").is_some());
    let refused = store.open_session(&new_session(alex)).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Forbidden))), "{refused:?}");
    // A lock that is over is none.
    store.record_login_failure(sam, 1, Duration::ZERO).await.expect("counted");
    store.open_session(&new_session(sam)).await.expect("opened");
}

pub(crate) async fn a_session_id_is_not_taken_over(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await.id, person(&*store, "sam").await.id);
    let session = signed_in(&*store, alex).await;
    for stolen in
        [NewSession { user: sam, ..session.clone() }, NewSession { refresh: secret(), ..session.clone() }]
    {
        let refused = store.open_session(&stolen).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Forbidden))), "{refused:?}");
    }
}

pub(crate) async fn tokens_follow_each_other(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let session = signed_in(&*store, alex).await;
    let (second, third) = (secret(), secret());
    for (old, new) in [(session.refresh, second), (second, third)] {
        let rotation = rotate(&*store, old, new).await;
        assert!(
            matches!(rotation, Rotation::Rotated { session: id, user, device: None } if id == session.id && user == alex),
            "{rotation:?}"
        );
    }
    assert!(matches!(rotate(&*store, secret(), secret()).await, Rotation::Refused), "an unknown token");
}

pub(crate) async fn a_used_token_ends_its_family(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let (session, other) = (signed_in(&*store, alex).await, signed_in(&*store, alex).await);
    let (second, third) = (secret(), secret());
    rotate(&*store, session.refresh, second).await;

    let ended = ended_by_reuse(rotate(&*store, session.refresh, third).await);
    assert_eq!((ended.session, ended.user), (session.id, alex));
    let event = ended.event.expect("ended now");
    assert_eq!((event.stream, event.seq, event.kind), (StreamRef::from(alex), 1, EventKind::SessionRevoked));
    assert_eq!(event.sender, Sender::System);

    assert!(matches!(rotate(&*store, second, secret()).await, Rotation::Refused), "the newest went with it");
    let again = ended_by_reuse(rotate(&*store, session.refresh, secret()).await);
    assert!(again.event.is_none(), "it had been ended");
    assert_eq!(store.not_live(&[session.id, other.id]).await.expect("an answer"), [session.id]);
}

pub(crate) async fn two_calls_with_one_token(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    for _ in 0..8 {
        let session = signed_in(&*store, alex).await;
        let calls = join_all((0..2).map(|_| {
            let store = store.shared();
            tokio::spawn(async move { rotate(&*store, session.refresh, secret()).await })
        }))
        .await;
        let calls: Vec<Rotation> = calls.into_iter().map(|call| call.expect("no panic")).collect();
        let rotated = calls.iter().filter(|call| matches!(call, Rotation::Rotated { .. })).count();
        let reused =
            calls.iter().filter(|call| matches!(call, Rotation::Reused(ended) if ended.event.is_some()));
        assert_eq!((rotated, reused.count()), (1, 1), "{calls:?}");
        assert_eq!(store.not_live(&[session.id]).await.expect("an answer"), [session.id]);
    }
}

pub(crate) async fn rotation_meets_the_end(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    for _ in 0..8 {
        let (session, next) = (signed_in(&*store, alex).await, secret());
        let rotating = {
            let store = store.shared();
            tokio::spawn(async move { rotate(&*store, session.refresh, next).await })
        };
        let ended = store.end_session(alex, session.id).await.expect("ended");
        assert!(ended.event.is_some());
        // Whoever was first: no token of the family is good any more, and nobody is accused of reuse.
        let rotation = rotating.await.expect("no panic");
        assert!(!matches!(rotation, Rotation::Reused(_)), "{rotation:?}");
        assert!(matches!(rotate(&*store, next, secret()).await, Rotation::Refused));
    }
}

pub(crate) async fn late_tokens_are_refused(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let session = NewSession { refresh_ttl: Duration::ZERO, ..new_session(alex) };
    store.open_session(&session).await.expect("opened");
    assert!(matches!(rotate(&*store, session.refresh, secret()).await, Rotation::Refused));

    let session = signed_in(&*store, alex).await;
    let late = secret();
    let rotated = store.rotate_refresh(&session.refresh, &late, Duration::ZERO).await.expect("an answer");
    assert!(matches!(rotated, Rotation::Rotated { .. }), "{rotated:?}");
    assert!(matches!(rotate(&*store, late, secret()).await, Rotation::Refused), "past its time, not reused");
}

pub(crate) async fn the_disabled_do_not_rotate(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let session = signed_in(&*store, alex).await;
    store.set_user_disabled(alex, true).await.expect("disabled");
    assert!(matches!(rotate(&*store, session.refresh, secret()).await, Rotation::Refused));
}

pub(crate) async fn a_sign_in_ends_once(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await.id, person(&*store, "sam").await.id);
    let session = signed_in(&*store, alex).await;
    for refused in
        [store.end_session(sam, session.id).await, store.end_session(alex, AuthSessionId::new()).await]
    {
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::NotFound("session")))), "{refused:?}");
    }
    let ends = join_all((0..4).map(|_| {
        let store = store.shared();
        tokio::spawn(async move { store.end_session(alex, session.id).await.expect("ended") })
    }))
    .await;
    let events: Vec<_> = ends.into_iter().filter_map(|end| end.expect("no panic").event).collect();
    assert_eq!(events.len(), 1);
    assert_eq!(&*events[0].data, format!(r#"{{"session_id":"{}"}}"#, session.id));
    assert!(matches!(rotate(&*store, session.refresh, secret()).await, Rotation::Refused));
}

pub(crate) async fn ends_are_numbered_without_holes(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let sessions = join_all((0..12).map(|_| signed_in(&*store, alex))).await;
    let ends = join_all(sessions.iter().map(|session| {
        let (store, id) = (store.shared(), session.id);
        tokio::spawn(
            async move { store.end_session(alex, id).await.expect("ended").event.expect("an event") },
        )
    }))
    .await;
    let mut events: Vec<_> = ends.into_iter().map(|end| end.expect("no panic")).collect();
    events.sort_by_key(|event| event.seq);
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "times follow seqs");
}

pub(crate) async fn ends_are_told_to_those_who_ask_later(store: Subject) {
    let (alex, sam) = (person(&*store, "alex").await.id, person(&*store, "sam").await.id);
    let (first, second, third) =
        (signed_in(&*store, alex).await, signed_in(&*store, alex).await, signed_in(&*store, sam).await);
    let (ended, next) = store.sessions_ended_since(None).await.expect("an answer");
    assert_eq!(ended, []);

    store.end_session(alex, first.id).await.expect("ended");
    store.set_user_disabled(sam, true).await.expect("disabled");
    let (ended, later) = store.sessions_ended_since(Some(next)).await.expect("an answer");
    assert_eq!(BTreeSet::from_iter(ended), BTreeSet::from([first.id, third.id]));
    assert!(later >= next);

    store.end_session(alex, second.id).await.expect("ended");
    // One may be told again, none may be left out.
    let (ended, _) = store.sessions_ended_since(Some(later)).await.expect("an answer");
    assert!(ended.contains(&second.id), "{ended:?}");
    let tomorrow = later + jiff::SignedDuration::from_hours(24);
    assert_eq!(store.sessions_ended_since(Some(tomorrow)).await.expect("an answer").0, []);
}

pub(crate) async fn unknown_sign_ins_are_not_live(store: Subject) {
    let alex = person(&*store, "alex").await.id;
    let (session, unknown) = (signed_in(&*store, alex).await, AuthSessionId::new());
    assert_eq!(store.not_live(&[session.id, unknown]).await.expect("an answer"), [unknown]);
    assert_eq!(store.not_live(&[]).await.expect("an answer"), []);
}
