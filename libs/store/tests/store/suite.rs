//! The contract suite: what every database must do, written against the traits alone.
//!
//! A backend gives a function that makes a [`Subject`] (an empty store of its own) to
//! [`contract_tests!`] and gets one test for each case below. A case that is not listed is dead code, which
//! the lints refuse.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use store::Store as AnyStore;

pub(crate) mod accounts;
pub(crate) mod agents;
pub(crate) mod commands;
pub(crate) mod consumers;
pub(crate) mod devices;
pub(crate) mod hints;
pub(crate) mod log;
pub(crate) mod members;
pub(crate) mod messages;
pub(crate) mod models;
pub(crate) mod nodes;
pub(crate) mod notice_scene;
pub(crate) mod notifications;
pub(crate) mod people;
pub(crate) mod presence;
pub(crate) mod properties;
pub(crate) mod push_decisions;
pub(crate) mod push_deliveries;
pub(crate) mod push_model;
pub(crate) mod races;
pub(crate) mod rates;
pub(crate) mod reap;
pub(crate) mod rescue;
pub(crate) mod retention;
pub(crate) mod rooms;
pub(crate) mod run_docs;
pub(crate) mod run_races;
pub(crate) mod runs;
pub(crate) mod scene;
pub(crate) mod sessions;
pub(crate) mod signing_keys;
pub(crate) mod task_calls;
pub(crate) mod task_claims;
pub(crate) mod task_fences;
pub(crate) mod task_history;
pub(crate) mod task_model;
pub(crate) mod task_scene;
pub(crate) mod task_ticks;
pub(crate) mod tasks;
pub(crate) mod tickets;
pub(crate) mod tools;
pub(crate) mod world;

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
                a_password_hash_is_replaced_while_it_is_the_old_one
                search_takes_every_character_as_it_is
                search_is_paged_by_id
                disabling_ends_every_sign_in
                disabling_meets_sign_ins_being_opened
                nobody_is_disabled
            }
            agents {
                an_agent_is_made_with_its_inbox
                a_handle_is_one_persons_or_one_agents
                of_people_and_agents_one_gets_the_handle
                a_key_makes_one_agent
                a_key_used_by_ten_makes_one_agent
                making_is_repeatable_by_id
                the_disabled_make_no_agents
                a_token_signs_in_until_it_is_rotated
                rotations_at_once_follow_each_other
                rotation_meets_revocation
                who_is_revoked_stays_so
                the_owner_and_admins_change_an_agent
                an_agent_signs_in_while_its_owner_may
                settings_stay_where_none_are_given
                agents_are_listed_by_id
                ids_are_told_apart
            }
            commands {
                a_question_is_answered_once
                late_answers_do_not_count
                only_members_ask_and_are_asked
            }
            consumers {
                each_taking_raises_the_epoch
                who_is_gone_contests_nothing
                a_repeated_taking_does_not_fence_itself
                a_place_is_resumed_by_its_session
                of_many_takings_the_highest_epoch_stands
                nobody_takes_for_an_agent_that_may_not_sign_in
                cursors_move_forward_only
                a_heartbeat_tells_what_was_lost
                agents_are_seen_as_they_are
                of_many_who_settle_one_tells
                presence_is_found_around_a_person
                an_agent_begins_with_its_rooms
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
                a_connection_stands_while_its_sign_in_and_slot_do
            }
            hints {
                hints_are_of_what_was_decided_so
                what_is_no_longer_worth_it_is_not_hinted
                a_screen_is_hinted_once_by_whatever_node
                hints_that_nobody_gave_are_found
            }
            nodes {
                nodes_beat_and_leave
            }
            notifications {
                a_mention_notifies_in_its_commit
                what_is_said_again_notifies_nobody
                a_batch_notifies_each_once
                only_who_is_there_is_notified
                the_first_kind_counts
                notices_of_many_at_once_leave_no_holes
                a_read_mark_reads_what_is_before_it
                what_is_read_is_said_in_several_ways
                notices_are_listed_by_page
                what_is_deleted_is_withdrawn
                facts_are_those_of_now
                a_run_that_ends_notifies_who_asked
                a_tool_call_notifies_until_it_is_over
                preferences_are_kept_whole
                old_notices_go_with_what_hangs_on_them
            }
            presence {
                people_are_seen_as_their_connections_add_up
                who_was_never_there_is_not_noted
                people_are_noted_without_rows
                a_refresh_tells_what_is_missing
                of_a_device_the_newest_connection_counts
                who_can_be_resumed_counts_until_then
                of_many_nodes_each_sees_what_was_written
                nodes_that_write_for_the_same_people_do_not_hinder_each_other
                rows_that_nobody_refreshes_are_reaped
                what_is_noted_is_checked_against_the_rows
                nobody_is_noted_as_less_until_the_table_is_settled
                a_gap_unsettles_the_table
                people_are_told_of_in_small_rooms
            }
            rates {
                exactly_the_burst_is_allowed
                keys_have_buckets_of_their_own
                tokens_come_back_when_said
                an_empty_bucket_stays_empty
                a_bucket_may_change_its_size
            }
            members {
                an_agent_is_a_member_like_people
                agents_have_no_dms
                who_signs_in_no_more_becomes_no_member
                an_agent_that_is_removed_is_told
                heirs_are_people
                an_agent_writes_in_its_own_name
                an_agent_changes_what_is_its_own
                a_revoked_agent_finds_nothing
                an_inbox_is_its_agents
                handles_of_agents_are_found
            }
            models {
                searches_find_what_begins_so
                tokens_are_good_once_and_in_turn
                slots_are_held_by_the_newest
            }
            reap {
                what_is_in_use_stays
                what_is_spent_goes_in_batches
                reapers_do_not_hinder_each_other
                documents_of_ended_runs_are_made_whole
            }
            sessions {
                a_sign_in_brings_its_device
                a_locked_account_opens_no_sign_in
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
            signing_keys {
                keys_are_kept_as_they_were_put
                another_revision_is_not_replaced
                of_many_who_saw_the_same_one_replaces_it
                the_database_tells_its_time
            }
            tickets {
                a_ticket_lets_in_once
                one_of_many_gets_in
                a_late_ticket_is_none
                tickets_go_with_their_sign_in
            }
            log {
                a_snapshot_has_everything_a_person_follows
                a_snapshot_never_runs_ahead_of_the_log
                pages_go_both_ways
                only_readers_read
                events_since_are_of_many_streams
                heads_leave_out_what_is_gone
                the_epoch_stays_until_it_is_renewed
                one_of_many_renews_the_epoch
            }
            messages {
                a_message_is_kept_as_it_was_sent
                a_batch_is_numbered_in_its_order
                a_refused_message_takes_no_number
                a_nonce_makes_a_send_repeatable
                a_nonce_counts_per_room_and_sender
                a_nonce_of_a_refused_message_is_free
                a_repeat_is_one_whatever_it_replies_to
                an_id_makes_a_send_repeatable
                what_is_no_json_fails_the_whole_batch
                nothing_is_appended_for_an_empty_batch
                only_the_sender_edits
                an_edit_is_repeatable
                a_deleted_message_keeps_no_text
                owners_delete_too
                reactions_count_once
                outsiders_find_nothing
            }
            properties {
                answers_are_those_of_the_model
            }
            push_decisions {
                each_is_claimed_once_however_many_claim
                a_claim_gives_what_decisions_need
                who_lost_a_claim_decides_nothing
                a_late_decision_counts_while_nobody_else_has_it
                what_is_over_leaves_the_queue
                what_waits_is_decided_again
                nothing_is_decided_while_nobody_knows
                a_push_is_one_for_each_device
                a_batch_of_decisions_is_of_many
                a_decision_that_is_repeated_does_nothing_twice
                a_release_brings_what_waits_and_nothing_else
                who_moves_while_it_is_decided_is_decided_on_again
                claims_decisions_and_releases_at_once_agree
            }
            push_deliveries {
                a_subscription_is_its_owners
                who_signs_out_is_pushed_to_no_more
                a_claim_gives_what_waits_of_one_room
                what_waits_is_as_it_stands
                a_claimed_device_is_nobody_elses
                a_device_that_is_lost_is_anothers
                a_device_rests_with_all_its_pushes
                a_receiver_that_is_gone_is_forgotten
                subscribing_again_keeps_a_claim_unless_it_differs
                an_address_is_the_last_devices
                an_address_that_many_want_has_one
                what_waits_goes_with_its_subscription
                a_test_is_a_push_without_notification
                a_device_gets_each_once_however_many_send
            }
            push_model {
                what_is_claimed_is_what_must_be_after_each_step
            }
            races {
                a_hundred_writers_leave_no_holes
                the_order_of_numbers_is_the_order_of_commits
                a_nonce_is_written_once_however_many_send_it
                opposite_orders_do_not_deadlock
                a_dm_asked_for_by_twenty_is_one
                a_key_used_by_ten_makes_one_room
                who_is_removed_says_nothing_after_it
                joining_and_leaving_agree_with_the_log
                owners_who_leave_together_leave_an_owner
                a_reaction_of_many_is_one
                an_edit_and_a_deletion_leave_no_text
                reading_on_many_devices_goes_forward
            }
            retention {
                the_newest_of_a_stream_are_kept
                the_old_go
                no_limit_keeps_everything
                a_batch_bounds_what_goes
                what_is_gone_is_not_there
                sending_and_trimming_go_together
            }
            rooms {
                a_group_tells_everybody
                a_dm_is_one_per_pair
                a_dm_is_of_two
                creating_is_repeatable_by_key
                a_key_makes_one_thing
                creating_is_repeatable_by_id
                nobody_unknown_becomes_a_member
                newcomers_are_told_where_to_begin
                only_owners_change_the_members
                whoever_is_removed_is_told
                an_owner_who_leaves_has_an_heir
                whoever_comes_back_begins_anew
                a_dm_keeps_its_members
                reading_moves_forward_only
                settings_change_what_is_given
                rooms_are_listed_by_id
                handles_are_found_among_members
            }
            rescue {
                nothing_due_is_left_alone
                a_lost_holder_is_replaced_until_attempts_end
                leases_are_kept_by_heartbeats
                who_does_not_stop_is_stopped
                work_and_waiting_end_sometime
                a_rescue_is_bounded_and_comes_to_its_end
            }
            run_docs {
                patches_lead_from_version_to_version
                a_batch_has_an_outcome_for_each
                a_flush_is_repeatable
                only_the_holder_flushes
                watchers_are_given_what_they_lack
                updates_are_of_many_runs
                old_patches_go_with_a_snapshot
                followers_see_no_hole
            }
            run_races {
                of_many_who_start_one_does
                a_start_and_a_taking_leave_one_holder
                nothing_is_flushed_after_a_taking
                many_flushes_of_many_runs_do_not_wait_for_ever
                an_end_and_a_cancel_agree
                a_start_and_a_cancel_agree
                one_cause_is_one_run
                places_are_never_given_twice
                rescuers_do_not_hinder_each_other
            }
            runs {
                a_run_is_offered_with_its_input
                a_run_is_asked_for_once
                only_members_ask_members
                chains_of_agents_end
                places_are_given_in_turn
                a_message_asks_agents
                a_run_is_started_by_one_consumer
                a_run_ends_with_its_document
                only_its_holder_ends_a_run
                a_run_is_cancelled
                few_may_cancel
                runs_are_seen_in_their_room
                who_takes_a_place_has_the_runs_handed_back
                who_resumes_goes_on
                a_new_consumer_hears_of_offered_runs
                more_places_are_given_at_once
                a_revoked_agent_ends_its_runs
                an_agent_that_is_removed_ends_its_runs_there
                a_deleted_message_leaves_no_text_with_agents
            }
            tasks {
                a_task_is_kept_as_it_was_made
                a_key_makes_one_task
                a_task_is_for_rooms_of_its_owner
                an_edit_is_made_from_what_stands
                who_may_do_what_with_a_task
                tasks_and_runs_are_listed_by_id
                a_hook_is_found_until_there_is_another
                the_key_of_a_webhook_stays_until_it_is_replaced
                an_owner_has_so_many_tasks
            }
            task_calls {
                a_delivery_queues_one_run
                who_does_not_listen_queues_nothing
                a_task_takes_so_many_and_no_more
                what_is_no_text_leaves_nothing
                asking_meets_an_end
                what_waits_for_an_end_is_found
                what_its_finder_left_is_tidied
                deleting_meets_everything
            }
            task_claims {
                a_claim_gives_what_is_needed_to_work
                every_attempt_belongs_to_the_trace_of_the_call_that_asked_for_it
                a_run_is_claimed_once_however_many_claim
                a_claim_takes_no_more_than_it_may
                nothing_is_given_to_who_is_over
                a_task_runs_once_at_a_time
                who_has_much_delays_nobody
                who_comes_new_has_their_share_and_no_more
                priorities_weigh_and_starve_nobody
                what_is_handed_back_is_first_and_the_same_attempt
                the_line_does_not_go_back
            }
            task_fences {
                who_holds_a_run_writes_in_its_name
                who_is_over_writes_nothing
                another_number_or_worker_is_kept_out
                who_is_good_loses_nothing
                of_many_who_take_up_a_run_one_does
                an_end_and_a_loss_agree
                who_hangs_is_taken_from
                what_a_worker_does_not_know_is_handed_back
            }
            task_history {
                the_newest_runs_of_a_task_are_kept
                old_runs_go
                what_was_deleted_goes_entirely
                every_task_has_its_turn
                deliveries_are_known_for_a_while
            }
            task_model {
                the_queue_is_what_it_must_be_after_each_step
            }
            task_ticks {
                a_tick_waits_for_its_time
                a_tick_that_nobody_made_ready_is_overdue
                a_tick_is_followed_by_the_next
                a_task_planned_anew_goes_on_as_its_edit_says
                an_edit_that_leaves_the_times_changes_nothing_of_them
                nothing_follows_in_a_task_that_is_paused_or_gone
                a_task_that_goes_on_again_has_one_tick
                a_retry_waits_and_is_the_same_chain
                attempts_that_an_edit_throws_away_are_kept_as_cancelled
                a_lost_tick_is_tried_again_at_once
                a_cancelled_run_is_over_or_told
                a_cancelled_tick_is_followed_as_its_edit_says
                late_ticks_wait_to_be_moved
                of_many_that_are_due_one_is_ready
                of_many_who_promote_each_run_is_ready_once
            }
            tools {
                a_call_is_made_and_answered
                a_run_waits_for_all_of_its_calls
                a_call_is_repeatable
                only_who_works_on_a_run_calls
                only_who_is_asked_answers
                calls_expire
                calls_end_with_their_run
                of_many_answers_one_counts
                an_answer_and_an_end_agree
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
                crate::suite::$subject::$case($open().await.into()).await;
            })*
        })*
    };
}
pub(crate) use cases;

/// An empty store, and what must live as long as it.
#[derive(Clone)]
pub(crate) struct Subject {
    store: Arc<dyn AnyStore>,
    _kept: Arc<dyn Any + Send + Sync>,
}

impl Subject {
    pub(crate) fn new(store: Arc<dyn AnyStore>, kept: impl Any + Send + Sync) -> Self {
        Self { store, _kept: Arc::new(kept) }
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
