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
pub(crate) mod devices;
pub(crate) mod nodes;
pub(crate) mod people;
pub(crate) mod rates;
pub(crate) mod sessions;
pub(crate) mod tickets;

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
            devices {
                devices_are_created_and_listed
                a_key_makes_one_device
                each_taking_raises_the_epoch
                a_repeated_attempt_does_not_fence_itself
                of_two_the_higher_epoch_stands
                a_slot_is_resumed_by_its_session
                of_two_resumes_one_succeeds
                slots_are_their_owners
                deleting_fences_the_connection
                deleting_meets_a_taking
            }
            nodes {
                nodes_beat_and_leave
            }
            rates {
                exactly_the_burst_is_allowed
                keys_have_buckets_of_their_own
                tokens_come_back_when_said
                an_empty_bucket_stays_empty
                a_bucket_may_change_its_size
            }
            sessions {
                a_sign_in_brings_its_device
                a_session_id_is_not_taken_over
                tokens_follow_each_other
                a_used_token_ends_its_family
                two_calls_with_one_token
                rotation_meets_the_end
                late_tokens_are_refused
                the_disabled_do_not_rotate
                a_sign_in_ends_once
                ends_are_numbered_without_holes
                ends_are_told_to_those_who_ask_later
                unknown_sign_ins_are_not_live
            }
            tickets {
                a_ticket_lets_in_once
                one_of_many_gets_in
                a_late_ticket_is_none
                tickets_go_with_their_sign_in
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
