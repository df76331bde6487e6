//! The contract suite: what every database must do, written against the traits alone.
//!
//! A backend gives a function that makes a [`Subject`] (an empty store of its own) to
//! [`contract_tests!`] and gets one test for each case below. A case that is not listed is dead code, which
//! the lints refuse.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use store::{Accounts, Devices, Nodes, Rates, Sessions, Tickets};

pub(crate) mod accounts;
pub(crate) mod people;

macro_rules! contract_tests {
    ($open:path) => {
        crate::suite::cases! { $open;
            accounts {
                a_person_is_created_once
                a_taken_handle_is_refused
                one_of_many_gets_the_handle
                credentials_are_found_by_handle
                failures_lock_at_the_threshold
                failures_at_once_are_all_counted
                a_success_forgets_the_failures
                search_takes_every_character_as_it_is
                search_is_paged_by_id
                disabling_ends_every_sign_in
                disabling_meets_sign_ins_being_opened
                nobody_is_disabled
            }
        }
    };
}
pub(crate) use contract_tests;

macro_rules! cases {
    ($open:path; $($subject:ident { $($case:ident)* })*) => {
        $(mod $subject {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::suite::$subject::$case($open().await).await;
            })*
        })*
    };
}
pub(crate) use cases;

/// All subjects.
pub(crate) trait AnyStore:
    Accounts + Devices + Nodes + Rates + Sessions + Tickets + Send + Sync
{
}
impl<T: Accounts + Devices + Nodes + Rates + Sessions + Tickets + Send + Sync> AnyStore for T {}

/// An empty store, and what must live as long as it.
pub(crate) struct Subject {
    store: Arc<dyn AnyStore>,
    _kept: Box<dyn Any + Send + Sync>,
}

impl Subject {
    pub(crate) fn new(store: Arc<dyn AnyStore>, kept: impl Any + Send + Sync) -> Self {
        Self { store, _kept: Box::new(kept) }
    }

    /// A handle for another task.
    pub(crate) fn shared(&self) -> Arc<dyn AnyStore> {
        self.store.clone()
    }
}

impl Deref for Subject {
    type Target = dyn AnyStore;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}
