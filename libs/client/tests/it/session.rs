//! A connection that lives on.

mod losses;
mod sends;
mod streams;

use std::time::Duration;

use client::session::Backoff;
use client::{Session, SessionSettings, SignIn, State, Update, Updates};
use protocol::frame::Slot;

use crate::fake::{Gateway, ME, PATIENCE};

pub(crate) fn settings(gateways: &[&Gateway]) -> SessionSettings {
    let urls = gateways.iter().map(|gateway| gateway.url.clone()).collect();
    let backoff = Backoff { first: Duration::from_millis(20), most: Duration::from_millis(200) };
    let settings = SessionSettings::new(urls, SignIn::Token("token".into()), Slot::Device(ME));
    SessionSettings { backoff, deadline: Duration::from_secs(5), ..settings }
}

pub(crate) fn open(gateways: &[&Gateway]) -> (Session, Updates) {
    Session::open(settings(gateways))
}

pub(crate) async fn next(updates: &mut Updates) -> Update {
    tokio::time::timeout(PATIENCE, updates.next()).await.expect("an update").expect("not the end")
}

/// The next update that is no state and no `ready`.
pub(crate) async fn next_content(updates: &mut Updates) -> Update {
    loop {
        match next(updates).await {
            Update::State(_) | Update::Ready(_) => {}
            update => return update,
        }
    }
}

/// Skips updates until a state.
pub(crate) async fn until(updates: &mut Updates, is_it: impl Fn(&State) -> bool) -> State {
    loop {
        if let Update::State(state) = next(updates).await
            && is_it(&state)
        {
            return state;
        }
    }
}

pub(crate) fn event_of(update: Update) -> u64 {
    match update {
        Update::Event(event) => event.seq,
        other => panic!("an event, not {other:?}"),
    }
}
