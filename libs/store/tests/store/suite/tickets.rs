//! Tickets.

use std::time::Duration;

use domain::AuthSessionId;
use futures_util::future::join_all;
use jiff::Timestamp;
use store::tickets::TicketClaims;
use store::{Refusal, StoreError};

use super::people::{HOUR, person, secret, signed_in};
use super::{AnyStore, Subject};

/// When the access tokens of this suite end.
const TOKEN_ENDS: Timestamp = Timestamp::constant(4_000_000_000, 250_000_000);

async fn claims(store: &dyn AnyStore, handle: &str) -> TicketClaims {
    let user = person(store, handle).await.id;
    TicketClaims { user, session: signed_in(store, user).await.id, token_expires_at: Some(TOKEN_ENDS) }
}

pub(crate) async fn a_ticket_lets_in_once(store: Subject) {
    let claims = claims(&*store, "alex").await;
    let ticket = secret();
    let ends = store.issue_ticket(&ticket, claims, HOUR).await.expect("issued");
    let away = ends.duration_since(Timestamp::now()).unsigned_abs();
    assert!(away > HOUR / 2 && away < HOUR * 2, "{away:?}");
    assert_eq!(store.consume_ticket(&secret()).await.expect("an answer"), None);
    assert_eq!(store.consume_ticket(&ticket).await.expect("an answer"), Some(claims));
    assert_eq!(store.consume_ticket(&ticket).await.expect("an answer"), None);
}

pub(crate) async fn one_of_many_gets_in(store: Subject) {
    let claims = claims(&*store, "alex").await;
    let ticket = secret();
    store.issue_ticket(&ticket, claims, HOUR).await.expect("issued");
    let tries = join_all((0..20).map(|_| {
        let store = store.shared();
        tokio::spawn(async move { store.consume_ticket(&ticket).await.expect("an answer") })
    }))
    .await;
    assert_eq!(tries.into_iter().filter_map(|tried| tried.expect("no panic")).count(), 1);
}

pub(crate) async fn a_late_ticket_is_none(store: Subject) {
    let claims = claims(&*store, "alex").await;
    let ticket = secret();
    store.issue_ticket(&ticket, claims, Duration::ZERO).await.expect("issued");
    assert_eq!(store.consume_ticket(&ticket).await.expect("an answer"), None);
}

pub(crate) async fn tickets_go_with_their_sign_in(store: Subject) {
    let (alex, sam) = (claims(&*store, "alex").await, claims(&*store, "sam").await);
    let (first, second) = (secret(), secret());
    store.issue_ticket(&first, alex, HOUR).await.expect("issued");
    store.issue_ticket(&second, sam, HOUR).await.expect("issued");
    store.end_session(alex.user, alex.session).await.expect("ended");
    store.set_user_disabled(sam.user, true).await.expect("disabled");
    for ticket in [first, second] {
        assert_eq!(store.consume_ticket(&ticket).await.expect("an answer"), None);
    }
    let unknown = TicketClaims { session: AuthSessionId::new(), ..alex };
    let crossed = TicketClaims { user: sam.user, ..alex };
    for claims in [alex, sam, unknown, crossed] {
        let refused = store.issue_ticket(&secret(), claims, HOUR).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Forbidden))), "{refused:?}");
    }
}
